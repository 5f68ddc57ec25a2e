//! Facts of Python modules and stubs, from ruff's syntax tree and a scope analysis of our own.

mod dunder_all;
mod imports;
mod scope;
mod usage;

use ruff_python_ast::{Expr, PySourceType, Stmt, visitor::Visitor};
use ruff_python_parser::parse_unchecked_source;
use ruff_text_size::Ranged;

use super::{Base, Export, FileFacts, ImportFlags, LineIndex, Origin, Problem, SymbolKind};
use crate::language::{extension, file_name};

/// Reads the facts of a Python module or stub.
pub(super) fn extract(path: &str, text: &str) -> FileFacts {
    let is_stub = extension(path) == "pyi";
    let source_type = if is_stub {
        PySourceType::Stub
    } else {
        PySourceType::Python
    };
    let parsed = parse_unchecked_source(text, source_type);
    let lines = LineIndex::new(text);
    let mut facts = FileFacts::default();
    for error in parsed.errors() {
        let line = lines.line(error.location.start().to_u32());
        facts.problems.push(Problem {
            line,
            message: error.error.to_string().to_lowercase(),
        });
    }
    let body = parsed.suite();
    facts.dunder_all = dunder_all::read(body);
    let mut usage = usage::UsageVisitor::new(text, &lines, &mut facts);
    usage.visit_body(body);
    let module_bindings = usage.finish();
    let mut definitions = Definitions {
        lines: &lines,
        is_stub,
        exports: Vec::new(),
        bases: Vec::new(),
    };
    definitions.read_body(body);
    facts.exports = definitions.exports;
    facts.bases = definitions.bases;
    let is_package = file_name(path).starts_with("__init__.");
    for import in facts.imports.iter_mut().filter(|_| !is_package) {
        // Any name may come out of a star, and a package passes them all on by name.
        if import.names.iter().any(|name| name.local.is_empty()) {
            import.flags = import.flags.with(ImportFlags::WHOLE);
        }
    }
    add_imported_names(path, module_bindings, &mut facts);
    facts
}

/// Sorts the names that imports bind at module level into exports (`__all__`, `import x as x`) and mere bindings.
fn add_imported_names(path: &str, bindings: Vec<usage::ModuleBinding>, facts: &mut FileFacts) {
    let is_package = file_name(path).starts_with("__init__.");
    for binding in bindings {
        let in_all = facts
            .dunder_all
            .as_ref()
            .is_some_and(|all| all.contains(&binding.export.name));
        if facts
            .exports
            .iter()
            .any(|export| export.name == binding.export.name)
        {
            continue;
        }
        if in_all || (binding.is_redundant_alias && (is_package || extension(path) == "pyi")) {
            facts.exports.push(binding.export);
        } else {
            facts.bindings.push(binding.export);
        }
    }
}

/// Walks the statements that define names of the module.
struct Definitions<'t> {
    lines: &'t LineIndex,
    is_stub: bool,
    exports: Vec<Export>,
    bases: Vec<Base>,
}

/// `a.B` of a base written `a.B` or `a.B[T]`.
fn path_of(base: &Expr) -> Option<String> {
    match base {
        Expr::Name(name) => Some(name.id.to_string()),
        Expr::Attribute(attribute) => {
            Some(format!("{}.{}", path_of(&attribute.value)?, attribute.attr))
        }
        Expr::Subscript(subscript) => path_of(&subscript.value),
        _ => None,
    }
}

impl Definitions<'_> {
    fn read_body(&mut self, body: &[Stmt]) {
        for statement in body {
            self.read(statement);
        }
    }

    fn read(&mut self, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                self.push(&function.name, SymbolKind::Function, &function.name);
            }
            Stmt::ClassDef(class) => {
                self.push(&class.name, SymbolKind::Class, &class.name);
                let arguments = class.arguments.iter().flat_map(|arguments| &arguments.args);
                let bases = arguments.filter_map(path_of);
                self.bases
                    .extend(bases.map(|base| Base::new(&class.name, base)));
            }
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    self.push_targets(target);
                }
            }
            Stmt::AnnAssign(assign) if assign.value.is_some() || self.is_stub => {
                self.push_targets(&assign.target);
            }
            Stmt::TypeAlias(alias) => {
                if let Expr::Name(name) = &*alias.name {
                    self.push(&name.id, SymbolKind::Type, name);
                }
            }
            Stmt::If(branch) if imports::is_definition_guard(&branch.test) => {
                self.read_body(&branch.body);
                for clause in &branch.elif_else_clauses {
                    self.read_body(&clause.body);
                }
            }
            Stmt::Try(guarded) if imports::catches_import_error(guarded) => {
                self.read_body(&guarded.body);
                for handler in &guarded.handlers {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                    self.read_body(&handler.body);
                }
                self.read_body(&guarded.orelse);
            }
            _ => {}
        }
    }

    fn push_targets(&mut self, target: &Expr) {
        match target {
            Expr::Name(name) => self.push(&name.id, SymbolKind::Const, name),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|part| self.push_targets(part)),
            Expr::List(list) => list.elts.iter().for_each(|part| self.push_targets(part)),
            Expr::Starred(starred) => self.push_targets(&starred.value),
            _ => {}
        }
    }

    fn push(&mut self, name: &str, kind: SymbolKind, node: &impl Ranged) {
        if name.is_empty()
            || self
                .exports
                .iter()
                .rev()
                .take(64)
                .any(|export| export.name == name)
        {
            return;
        }
        let line = self.lines.line(node.start().to_u32());
        self.exports.push(Export {
            name: name.to_owned(),
            origin: Origin::Declared(kind),
            line,
        });
    }
}

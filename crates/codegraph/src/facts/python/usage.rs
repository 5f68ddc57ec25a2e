//! One walk over a Python module that reads its imports and finds out which imported names are used.
//!
//! The rules are those of pyflakes' unused-import check as ruff states it (F401): the binding in force at the end of
//! a scope counts; `__all__`, string annotations and `import x as x` are uses; `__future__` never counts.

use ruff_python_ast::name::Name;
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{
    Alias, Comprehension, ExceptHandler, Expr, ExprAttribute, ExprContext, ExprName, Parameters,
    Pattern, Stmt, StmtFunctionDef, StmtIf, StmtImport, StmtImportFrom, StringLiteral, TypeParam,
};
use ruff_python_parser::parse_string_annotation;
use ruff_text_size::Ranged;

use super::imports::is_type_checking;
use super::scope::{ScopeKind, Scopes};
use crate::facts::{
    Export, FileFacts, Import, ImportFlags, ImportedName, LineIndex, Origin, Usage,
};

/// A name that an import binds at module level.
pub(super) struct ModuleBinding {
    pub(super) export: Export,
    /// `import x as x` and `from m import x as x`.
    pub(super) is_redundant_alias: bool,
}

/// Reads imports into the facts while it keeps the scopes.
pub(super) struct UsageVisitor<'t> {
    text: &'t str,
    lines: &'t LineIndex,
    facts: &'t mut FileFacts,
    scopes: Scopes,
    module_bindings: Vec<ModuleBinding>,
    conditions: u32,
    type_checking: u32,
    /// Whether string literals are annotations here.
    strings_are_types: bool,
}

impl<'t> UsageVisitor<'t> {
    pub(super) fn new(text: &'t str, lines: &'t LineIndex, facts: &'t mut FileFacts) -> Self {
        Self {
            text,
            lines,
            facts,
            scopes: Scopes::new(),
            module_bindings: Vec::new(),
            conditions: 0,
            type_checking: 0,
            strings_are_types: false,
        }
    }

    /// Settles the use of all imported names.
    pub(super) fn finish(mut self) -> Vec<ModuleBinding> {
        for name in self.facts.dunder_all.iter().flatten() {
            self.scopes.refer_from_module(name);
        }
        for settled in std::mem::replace(&mut self.scopes, Scopes::new()).settle() {
            let (import, name) = settled.import;
            let import = &mut self.facts.imports[import as usize];
            let whole_module = import.whole_module.then_some(import.module.as_str());
            let name = &mut import.names[name as usize];
            if !settled.is_used {
                name.usage = Usage::Unused;
            }
            name.members = members(whole_module, &name.local, &settled.chains);
        }
        std::mem::take(&mut self.module_bindings)
    }

    fn flags(&self) -> ImportFlags {
        let mut flags = ImportFlags::default();
        if self.conditions > 0 {
            flags = flags.with(ImportFlags::CONDITIONAL);
        }
        if self.type_checking > 0 {
            flags = flags.with(ImportFlags::TYPE_CHECKING);
        }
        flags
    }

    fn push_import(&mut self, module: String, line: u32, whole_module: bool) -> u32 {
        let index = u32::try_from(self.facts.imports.len()).unwrap_or(u32::MAX);
        let flags = self.flags();
        self.facts.imports.push(Import {
            module,
            names: Vec::new(),
            flags,
            line,
            whole_module,
        });
        index
    }

    fn push_name(&mut self, import: u32, alias: &Alias, imported: &str, local: &Name, joins: bool) {
        let names = &mut self.facts.imports[import as usize].names;
        let position = u32::try_from(names.len()).unwrap_or(u32::MAX);
        names.push(ImportedName::used(imported, local));
        let redundant = alias
            .asname
            .as_ref()
            .is_some_and(|asname| asname.id == alias.name.id);
        let judged_elsewhere = self.scopes.bind_import(local, (import, position), joins);
        if redundant || judged_elsewhere {
            self.scopes.refer(local);
        }
        if self.scopes.in_module() {
            let origin = Origin::Imported {
                import,
                name: imported.to_owned(),
            };
            let line = self.facts.imports[import as usize].line;
            let export = Export {
                name: local.to_string(),
                origin,
                line,
            };
            self.module_bindings.push(ModuleBinding {
                export,
                is_redundant_alias: redundant,
            });
        }
    }

    fn read_import(&mut self, import: &StmtImport) {
        for alias in &import.names {
            let line = self.lines.line(alias.start().to_u32());
            let index = self.push_import(alias.name.to_string(), line, true);
            let first = Name::new(alias.name.split('.').next().unwrap_or_default());
            let local = alias.asname.as_ref().map_or(&first, |asname| &asname.id);
            let is_submodule = alias.asname.is_none() && alias.name.contains('.');
            self.push_name(index, alias, "*", local, is_submodule);
        }
    }

    fn read_import_from(&mut self, import: &StmtImportFrom) {
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        let module = format!("{}{module}", ".".repeat(import.level as usize));
        let is_future = module == "__future__";
        let line = self.lines.line(import.start().to_u32());
        let index = self.push_import(module, line, false);
        for alias in &import.names {
            if alias.name.as_str() == "*" {
                let star = ImportedName::used("*", "");
                self.facts.imports[index as usize].names.push(star);
                if self.scopes.in_module() {
                    self.facts.star_exports.push(index);
                }
                continue;
            }
            let local = alias
                .asname
                .as_ref()
                .map_or(&alias.name.id, |asname| &asname.id);
            self.push_name(index, alias, alias.name.as_str(), local, false);
            if is_future {
                self.scopes.refer(local);
            }
        }
    }

    /// `importlib.import_module("m")` and `__import__("m")` with a literal name.
    fn read_dynamic_import(&mut self, call: &ruff_python_ast::ExprCall) {
        let name = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => return,
        };
        let Some(Expr::StringLiteral(module)) = call.arguments.args.first() else {
            return;
        };
        if matches!(name, "import_module" | "__import__") {
            let module = module.value.to_str();
            let is_module = !module.is_empty()
                && module
                    .chars()
                    .all(|c| c.is_alphanumeric() || c == '_' || c == '.');
            if is_module && !module.starts_with('.') {
                let line = self.lines.line(call.start().to_u32());
                let index = self.push_import(module.to_owned(), line, true);
                let flags = &mut self.facts.imports[index as usize].flags;
                *flags = flags.with(ImportFlags::DYNAMIC);
            }
        }
    }

    fn visit_function(&mut self, function: &StmtFunctionDef) {
        for decorator in &function.decorator_list {
            self.visit_decorator(decorator);
        }
        self.scopes.bind(&function.name.id);
        self.scopes.enter(ScopeKind::Inner);
        if let Some(params) = &function.type_params {
            self.visit_type_params(params);
        }
        self.visit_outer_parameters(&function.parameters);
        if let Some(returns) = &function.returns {
            self.visit_annotation(returns);
        }
        self.scopes.enter(ScopeKind::Function);
        self.bind_parameters(&function.parameters);
        self.visit_body(&function.body);
        self.scopes.leave();
        self.scopes.leave();
    }

    /// Defaults and annotations belong to the scope around the function.
    fn visit_outer_parameters(&mut self, parameters: &Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                self.visit_expr(default);
            }
        }
        for parameter in parameters {
            if let Some(annotation) = parameter.annotation() {
                self.visit_annotation(annotation);
            }
        }
    }

    fn bind_parameters(&mut self, parameters: &Parameters) {
        for parameter in parameters {
            self.scopes.bind(&parameter.name().id);
        }
    }

    fn visit_class(&mut self, class: &ruff_python_ast::StmtClassDef) {
        for decorator in &class.decorator_list {
            self.visit_decorator(decorator);
        }
        self.scopes.bind(&class.name.id);
        self.scopes.enter(ScopeKind::Inner);
        if let Some(params) = &class.type_params {
            self.visit_type_params(params);
        }
        if let Some(arguments) = &class.arguments {
            self.visit_arguments(arguments);
        }
        self.scopes.enter(ScopeKind::Class);
        self.visit_body(&class.body);
        self.scopes.leave();
        self.scopes.leave();
    }

    fn visit_branch(&mut self, branch: &StmtIf) {
        self.visit_expr(&branch.test);
        let type_checking = u32::from(is_type_checking(&branch.test));
        self.conditions += 1 - type_checking;
        self.type_checking += type_checking;
        self.visit_body(&branch.body);
        self.type_checking -= type_checking;
        self.conditions += type_checking;
        for clause in &branch.elif_else_clauses {
            if let Some(test) = &clause.test {
                self.visit_expr(test);
            }
            self.visit_body(&clause.body);
        }
        self.conditions -= 1;
    }

    fn visit_generators(
        &mut self,
        generators: &[Comprehension],
        visit_element: impl FnOnce(&mut Self),
    ) {
        self.scopes.enter(ScopeKind::Inner);
        for generator in generators {
            self.visit_expr(&generator.iter);
            self.visit_expr(&generator.target);
            for condition in &generator.ifs {
                self.visit_expr(condition);
            }
        }
        visit_element(self);
        self.scopes.leave();
    }

    fn visit_string_type(&mut self, literal: &StringLiteral) {
        if let Ok(parsed) = parse_string_annotation(self.text, literal) {
            self.visit_expr(parsed.expr());
        }
    }

    fn with_types(&mut self, are_types: bool, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.strings_are_types, are_types);
        visit(self);
        self.strings_are_types = before;
    }

    fn visit_subscript(&mut self, subscript: &ruff_python_ast::ExprSubscript) {
        self.visit_expr(&subscript.value);
        let name = match &*subscript.value {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        if name == "Literal" {
            self.with_types(false, |visitor| visitor.visit_expr(&subscript.slice));
        } else if name == "Annotated" {
            match &*subscript.slice {
                Expr::Tuple(parts) if !parts.elts.is_empty() => {
                    self.with_types(true, |visitor| visitor.visit_expr(&parts.elts[0]));
                    self.with_types(false, |visitor| {
                        parts.elts[1..]
                            .iter()
                            .for_each(|part| visitor.visit_expr(part));
                    });
                }
                slice => self.visit_expr(slice),
            }
        } else {
            let are_types = self.strings_are_types || is_generic(name);
            self.with_types(are_types, |visitor| visitor.visit_expr(&subscript.slice));
        }
    }

    fn visit_call(&mut self, call: &ruff_python_ast::ExprCall) {
        self.read_dynamic_import(call);
        self.visit_expr(&call.func);
        let name = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => attribute.attr.as_str(),
            _ => "",
        };
        let are_types = matches!(
            name,
            "cast" | "TypeVar" | "NewType" | "NamedTuple" | "TypedDict" | "assert_type"
        );
        self.with_types(are_types, |visitor| {
            visitor.visit_arguments(&call.arguments);
        });
    }
}

/// Subscripts whose arguments are types wherever they stand.
fn is_generic(name: &str) -> bool {
    matches!(
        name,
        "Optional"
            | "Union"
            | "List"
            | "Dict"
            | "Set"
            | "FrozenSet"
            | "Tuple"
            | "Type"
            | "Callable"
            | "Iterable"
            | "Iterator"
            | "Sequence"
            | "Mapping"
            | "MutableMapping"
            | "Generator"
            | "Awaitable"
            | "Coroutine"
            | "AsyncIterator"
            | "AsyncGenerator"
            | "ClassVar"
            | "Final"
            | "Generic"
            | "Protocol"
            | "DefaultDict"
            | "Deque"
            | "Counter"
            | "OrderedDict"
            | "list"
            | "dict"
            | "set"
            | "frozenset"
            | "tuple"
            | "type"
    )
}

impl<'b> Visitor<'b> for UsageVisitor<'_> {
    fn visit_stmt(&mut self, statement: &'b Stmt) {
        match statement {
            Stmt::Import(import) => self.read_import(import),
            Stmt::ImportFrom(import) => self.read_import_from(import),
            Stmt::FunctionDef(function) => self.visit_function(function),
            Stmt::ClassDef(class) => self.visit_class(class),
            Stmt::If(branch) => self.visit_branch(branch),
            Stmt::Try(_) => {
                self.conditions += 1;
                visitor::walk_stmt(self, statement);
                self.conditions -= 1;
            }
            Stmt::Global(global) => global
                .names
                .iter()
                .for_each(|name| self.scopes.declare_elsewhere(&name.id)),
            Stmt::Nonlocal(nonlocal) => {
                nonlocal.names.iter().for_each(|name| {
                    self.scopes.declare_elsewhere(&name.id);
                    self.scopes.refer(&name.id);
                });
            }
            Stmt::AugAssign(assign) => {
                if let Expr::Name(name) = &*assign.target {
                    self.scopes.refer(&name.id);
                }
                visitor::walk_stmt(self, statement);
            }
            Stmt::TypeAlias(alias) => {
                if let Expr::Name(name) = &*alias.name {
                    self.scopes.bind(&name.id);
                }
                self.scopes.enter(ScopeKind::Inner);
                if let Some(params) = &alias.type_params {
                    self.visit_type_params(params);
                }
                self.with_types(true, |visitor| visitor.visit_expr(&alias.value));
                self.scopes.leave();
            }
            Stmt::AnnAssign(assign) => {
                self.visit_annotation(&assign.annotation);
                if let Some(value) = &assign.value {
                    let is_alias = names_type_alias(&assign.annotation);
                    self.with_types(is_alias, |visitor| visitor.visit_expr(value));
                    self.visit_expr(&assign.target);
                } else if !matches!(&*assign.target, Expr::Name(_)) {
                    self.visit_expr(&assign.target);
                }
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_annotation(&mut self, annotation: &'b Expr) {
        self.with_types(true, |visitor| visitor.visit_expr(annotation));
    }

    fn visit_expr(&mut self, expression: &'b Expr) {
        match expression {
            Expr::Name(name) => match name.ctx {
                ExprContext::Store => self.scopes.bind(&name.id),
                ExprContext::Load | ExprContext::Del | ExprContext::Invalid => {
                    self.scopes.refer(&name.id);
                }
            },
            Expr::Attribute(attribute) => match chain_of(attribute) {
                Some((name, chain)) => self.scopes.refer_to_member(&name.id, chain),
                None => visitor::walk_expr(self, expression),
            },
            Expr::Named(named) => {
                self.visit_expr(&named.value);
                if let Expr::Name(name) = &*named.target {
                    self.scopes.bind_walrus(&name.id);
                }
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_outer_parameters(parameters);
                }
                self.scopes.enter(ScopeKind::Function);
                if let Some(parameters) = &lambda.parameters {
                    self.bind_parameters(parameters);
                }
                self.visit_expr(&lambda.body);
                self.scopes.leave();
            }
            Expr::ListComp(comp) => {
                self.visit_generators(&comp.generators, |v| v.visit_expr(&comp.elt));
            }
            Expr::SetComp(comp) => {
                self.visit_generators(&comp.generators, |v| v.visit_expr(&comp.elt));
            }
            Expr::Generator(comp) => {
                self.visit_generators(&comp.generators, |v| v.visit_expr(&comp.elt));
            }
            Expr::DictComp(comp) => self.visit_generators(&comp.generators, |v| {
                comp.key.iter().for_each(|key| v.visit_expr(key));
                v.visit_expr(&comp.value);
            }),
            Expr::Subscript(subscript) => self.visit_subscript(subscript),
            Expr::Call(call) => self.visit_call(call),
            Expr::StringLiteral(text) if self.strings_are_types => {
                text.value
                    .iter()
                    .for_each(|literal| self.visit_string_type(literal));
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_except_handler(&mut self, handler: &'b ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.scopes.bind(&name.id);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_type_param(&mut self, param: &'b TypeParam) {
        self.scopes.bind(&param.name().id);
        self.with_types(true, |visitor| visitor::walk_type_param(visitor, param));
    }

    fn visit_pattern(&mut self, pattern: &'b Pattern) {
        let bound = match pattern {
            Pattern::MatchAs(as_pattern) => as_pattern.name.as_ref(),
            Pattern::MatchStar(star) => star.name.as_ref(),
            Pattern::MatchMapping(mapping) => mapping.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = bound {
            self.scopes.bind(&name.id);
        }
        visitor::walk_pattern(self, pattern);
    }
}

/// `a.b.c` as the name it begins with and what is taken out of it.
fn chain_of(attribute: &ExprAttribute) -> Option<(&ExprName, String)> {
    let mut parts = vec![attribute.attr.as_str()];
    let mut at = &*attribute.value;
    loop {
        match at {
            Expr::Attribute(inner) => {
                parts.push(inner.attr.as_str());
                at = &inner.value;
            }
            Expr::Name(name) => {
                parts.reverse();
                return Some((name, parts.join(".")));
            }
            _ => return None,
        }
    }
}

/// What is taken out of the module that an import names. After `import a.b` the module is what `a.b` means, and `a.c` is
/// another one.
fn members(whole_module: Option<&str>, local: &str, chains: &[String]) -> Option<Vec<String>> {
    /// Members of members of members say nothing of modules any more.
    const DEPTH: usize = 3;
    let below = whole_module
        .and_then(|module| module.strip_prefix(local))
        .and_then(|rest| rest.strip_prefix('.'));
    let mut members: Vec<String> = Vec::new();
    for chain in chains {
        let taken = match below {
            None => chain.as_str(),
            Some(below) if chain == below || below.starts_with(&format!("{chain}.")) => "",
            Some(below) => match chain
                .strip_prefix(below)
                .and_then(|rest| rest.strip_prefix('.'))
            {
                Some(taken) => taken,
                None if chain.is_empty() => "",
                None => continue,
            },
        };
        if taken.is_empty() {
            return None;
        }
        let taken: Vec<&str> = taken.split('.').take(DEPTH).collect();
        members.push(taken.join("."));
    }
    members.sort_unstable();
    members.dedup();
    Some(members)
}

fn names_type_alias(annotation: &Expr) -> bool {
    match annotation {
        Expr::Name(name) => name.id.as_str() == "TypeAlias",
        Expr::Attribute(attribute) => attribute.attr.as_str() == "TypeAlias",
        _ => false,
    }
}

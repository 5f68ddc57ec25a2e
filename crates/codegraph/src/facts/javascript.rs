//! Facts of JavaScript and TypeScript, from oxc's syntax tree and scopes.

mod bases;
mod commonjs;
mod declarations;
mod jsdoc;
mod members;
mod module_items;
mod nested;
mod recovery;

use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_parser::{Parser, ParserReturn};
use oxc_semantic::{Scoping, SemanticBuilder, SymbolId};
use oxc_span::SourceType;

use super::{
    FileFacts, Import, ImportFlags, ImportedName, LineIndex, Origin, Problem, SymbolKind, Usage,
};
use crate::language::extension;

/// What the passes over one file share.
struct Reader<'t, 'a> {
    text: &'t str,
    lines: LineIndex,
    scoping: &'t Scoping,
    program: &'t Program<'a>,
    is_javascript: bool,
    is_declaration_file: bool,
    facts: FileFacts,
    /// Import names whose usage is only known at the end: import index, name index, symbol.
    bound: Vec<(u32, u32, SymbolId)>,
    has_jsx: bool,
    /// Local names of the CommonJS exports object.
    exports_aliases: HashSet<String>,
}

/// Reads the facts of a JavaScript or TypeScript file; `path` decides the dialect.
pub(super) fn extract(path: &str, text: &str) -> FileFacts {
    let source_type = SourceType::from_path(path).unwrap_or_default();
    let (facts, panicked) = parse_as(path, text, source_type);
    if panicked && extension(path) == "js" {
        // Flow-typed and TypeScript-flavoured `.js` files exist; the TypeScript grammar reads most of both.
        let (again, still_panicked) = parse_as(path, text, SourceType::tsx());
        if !still_panicked {
            let problems = facts.problems;
            return FileFacts { problems, ..again };
        }
    }
    if panicked {
        recover(path, text, source_type, facts)
    } else {
        facts
    }
}

/// As [`extract`] with a given dialect.
pub(super) fn extract_as(path: &str, text: &str, source_type: SourceType) -> FileFacts {
    let (facts, panicked) = parse_as(path, text, source_type);
    if panicked {
        recover(path, text, source_type, facts)
    } else {
        facts
    }
}

/// The facts of what parses of a broken file. Nothing in it counts as unused: the broken part may use it.
fn recover(path: &str, text: &str, source_type: SourceType, broken: FileFacts) -> FileFacts {
    let kept = recovery::without_broken_statements(text, source_type);
    let (mut facts, _) = parse_as(path, &kept, source_type);
    facts
        .imports
        .iter_mut()
        .flat_map(|import| &mut import.names)
        .for_each(|name| name.usage = Usage::Used);
    facts.problems = broken.problems;
    facts
}

/// The facts under one dialect, and whether the parser gave up.
fn parse_as(path: &str, text: &str, source_type: SourceType) -> (FileFacts, bool) {
    let allocator = Allocator::default();
    let ParserReturn {
        program,
        diagnostics,
        panicked,
        module_record,
        ..
    } = Parser::new(&allocator, text, source_type).parse();
    let semantic = SemanticBuilder::new().build(&program).semantic;
    let mut reader = Reader {
        text,
        lines: LineIndex::new(text),
        scoping: semantic.scoping(),
        program: &program,
        is_javascript: matches!(extension(path), "js" | "jsx" | "mjs" | "cjs"),
        is_declaration_file: source_type.is_typescript_definition(),
        facts: FileFacts::default(),
        bound: Vec::new(),
        has_jsx: false,
        exports_aliases: HashSet::new(),
    };
    for diagnostic in diagnostics {
        let offset = diagnostic.labels.iter().next().map(|label| label.offset());
        let line = offset.map_or(0, |at| reader.lines.line(at));
        reader.facts.problems.push(Problem {
            line,
            message: diagnostic.message.to_lowercase(),
        });
    }
    reader.read_module_items();
    reader.read_nested(!module_record.dynamic_imports.is_empty());
    reader.read_commonjs();
    reader.read_jsdoc_imports();
    reader.read_bases();
    reader.settle_members();
    reader.settle_usage();
    (reader.facts, panicked)
}

impl Reader<'_, '_> {
    fn push_import(&mut self, module: &str, flags: ImportFlags, offset: u32) -> u32 {
        let index = u32::try_from(self.facts.imports.len()).unwrap_or(u32::MAX);
        self.facts.imports.push(Import {
            module: module.to_owned(),
            names: Vec::new(),
            flags,
            line: self.lines.line(offset),
            whole_module: false,
        });
        index
    }

    fn push_name(
        &mut self,
        import: u32,
        imported: &str,
        local: &str,
        type_only: bool,
        symbol: Option<SymbolId>,
    ) {
        let names = &mut self.facts.imports[import as usize].names;
        if let Some(symbol) = symbol {
            self.bound.push((
                import,
                u32::try_from(names.len()).unwrap_or(u32::MAX),
                symbol,
            ));
        }
        names.push(ImportedName {
            type_only,
            ..ImportedName::used(imported, local)
        });
    }

    /// Types that JSDoc of JavaScript files takes from other modules, and those that it defines.
    fn read_jsdoc_imports(&mut self) {
        if !self.is_javascript {
            return;
        }
        for (module, member, offset) in jsdoc::imported_modules(self.program, self.text) {
            let index = self.push_import(module, ImportFlags::TYPE_ONLY, offset);
            if let Some(member) = member {
                self.push_name(index, member, member, true, None);
            }
        }
        let is_module = !self.facts.exports.is_empty() || !self.facts.imports.is_empty();
        for (name, offset) in jsdoc::defined_types(self.program, self.text)
            .into_iter()
            .filter(|_| is_module)
        {
            self.push_export(name, Origin::Declared(SymbolKind::Type), offset);
        }
    }

    /// Decides which bound names nothing refers to, by scope, by JSDoc and by JSX.
    fn settle_usage(&mut self) {
        let unused: Vec<(u32, u32)> = self
            .bound
            .iter()
            .filter(|(_, _, symbol)| self.scoping.symbol_is_unused(*symbol))
            .map(|(import, name, _)| (*import, *name))
            .collect();
        if unused.is_empty() {
            return;
        }
        let mentioned = jsdoc::mentioned_names(self.program, self.text, self.is_javascript);
        self.facts.jsx_pragma = jsdoc::jsx_pragma(self.program, self.text);
        for (import, name) in unused {
            let name = &mut self.facts.imports[import as usize].names[name as usize];
            // As for the compiler, a leading underscore says that the name is meant to be unused.
            let is_meant = name.local.starts_with('_');
            name.usage = if is_meant || mentioned.contains(name.local.as_str()) {
                Usage::Used
            } else if self.has_jsx {
                Usage::UnusedUnlessJsxFactory
            } else {
                Usage::Unused
            };
        }
    }
}

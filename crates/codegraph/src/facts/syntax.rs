//! What the readers of tree-sitter's syntax trees share: parsing within bounds, walking without recursion, and
//! building facts.

use std::ops::ControlFlow;

use rustc_hash::FxHashSet;
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

use super::{
    Base, Export, FileFacts, Import, ImportFlags, ImportedName, Origin, Problem, Reference,
    SymbolKind,
};

/// How many bytes of text the parser must get through for each report of its progress, past an allowance. Ordinary code
/// needs 130 and more, the worst nonsense found 10; what needs fewer would not come back.
const BYTES_PER_REPORT: usize = 4;

/// Reports that every text may take.
const REPORTS_ALLOWED: usize = 10_000;

/// Parses a text; `None` where the parser gives up.
pub(super) fn parse(language: &Language, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    let mut reports_left = REPORTS_ALLOWED + text.len() / BYTES_PER_REPORT;
    let mut progress = |_: &tree_sitter::ParseState| {
        reports_left = reports_left.saturating_sub(1);
        if reports_left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    parser.parse_with_options(
        &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
        None,
        Some(options),
    )
}

/// Facts in the making.
pub(super) struct Builder<'t> {
    pub(super) text: &'t str,
    pub(super) facts: FileFacts,
    referred: FxHashSet<String>,
}

impl<'t> Builder<'t> {
    /// Begins the facts of a text with what its tree says is wrong with it.
    pub(super) fn new(text: &'t str, root: Node<'_>) -> Self {
        let mut facts = FileFacts::default();
        if root.has_error() {
            facts.problems.push(Problem {
                line: first_error(root).map_or(0, line_of),
                message: "syntax error".to_owned(),
            });
        }
        Self {
            text,
            facts,
            referred: FxHashSet::default(),
        }
    }

    /// The text of a node.
    pub(super) fn word(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The text of a node's field; empty where it has none.
    pub(super) fn field(&self, node: Node<'_>, field: &str) -> &'t str {
        node.child_by_field_name(field)
            .map_or("", |child| self.word(child))
    }

    /// Adds an exported declaration.
    pub(super) fn push_export(&mut self, name: &str, kind: SymbolKind, node: Node<'_>) {
        let export = declared(name, kind, node);
        self.facts.exports.extend(export);
    }

    /// Adds a declaration that only files of the same package can see.
    pub(super) fn push_binding(&mut self, name: &str, kind: SymbolKind, node: Node<'_>) {
        self.facts.bindings.extend(declared(name, kind, node));
    }

    /// Adds an import without names and answers its index.
    pub(super) fn push_import(&mut self, module: &str, flags: ImportFlags, line: u32) -> u32 {
        let index = u32::try_from(self.facts.imports.len()).unwrap_or(u32::MAX);
        self.facts.imports.push(Import {
            module: module.to_owned(),
            names: Vec::new(),
            flags,
            line,
            whole_module: false,
        });
        index
    }

    /// Adds a name to an import, once.
    pub(super) fn push_name(&mut self, import: u32, imported: &str, local: &str) {
        let names = &mut self.facts.imports[import as usize].names;
        if names
            .iter()
            .any(|name| name.imported == imported && name.local == local)
        {
            return;
        }
        names.push(ImportedName::used(imported, local));
    }

    /// Adds an import that brings every name of a module: which of them are used, the references say.
    #[allow(dead_code, reason = "not every language has open imports")]
    pub(super) fn push_open_import(&mut self, module: &str, flags: ImportFlags, line: u32) {
        let import = self.push_import(module, flags, line);
        self.push_name(import, "*", "");
    }

    /// Adds a name of a module that is used without an import statement. One import a module collects them.
    #[allow(dead_code, reason = "not every language has qualified names")]
    pub(super) fn push_qualified(&mut self, module: &str, name: &str, line: u32) {
        let known = self.facts.imports.iter().position(|import| {
            import.flags == ImportFlags::IMPLICIT
                && import.module == module
                && import.names.iter().all(|name| name.imported != "*")
        });
        let import = known
            .and_then(|index| u32::try_from(index).ok())
            .unwrap_or_else(|| self.push_import(module, ImportFlags::IMPLICIT, line));
        self.push_name(import, name, name);
    }

    /// Notes what a class is built on: the names in a node, without their arguments.
    #[allow(dead_code, reason = "not every language has classes")]
    pub(super) fn push_bases(&mut self, class: &str, bases: Option<Node<'_>>) {
        if let Some(bases) = bases {
            visit(bases, |at| {
                let is_name = matches!(
                    at.node.kind(),
                    "identifier" | "type_identifier" | "name" | "constant"
                );
                if is_name {
                    let name = self.word(at.node);
                    self.facts.bases.push(Base::new(class, name));
                }
                !matches!(
                    at.node.kind(),
                    "type_arguments"
                        | "type_argument_list"
                        | "template_argument_list"
                        | "argument_list"
                )
            });
        }
    }

    /// Notes a use of a name that some open import may bring.
    #[allow(dead_code, reason = "not every language has open imports")]
    pub(super) fn refer(&mut self, name: &str, node: Node<'_>) {
        if !name.is_empty() && !self.referred.contains(name) {
            self.referred.insert(name.to_owned());
            self.facts.references.push(Reference {
                name: name.to_owned(),
                line: line_of(node),
            });
        }
    }

    /// The facts, without references to what the file declares or imports by name itself.
    pub(super) fn finish(mut self) -> FileFacts {
        let facts = &mut self.facts;
        let own: FxHashSet<&str> = facts
            .exports
            .iter()
            .chain(&facts.bindings)
            .map(|export| export.name.as_str())
            .chain(
                facts
                    .imports
                    .iter()
                    .filter(|import| !import.flags.contains(ImportFlags::IMPLICIT))
                    .flat_map(|import| &import.names)
                    .map(|name| name.local.as_str()),
            )
            .collect();
        let is_foreign = |reference: &Reference| !own.contains(reference.name.as_str());
        let references = std::mem::take(&mut facts.references);
        facts.references = references.into_iter().filter(is_foreign).collect();
        self.facts
    }
}

fn declared(name: &str, kind: SymbolKind, node: Node<'_>) -> Option<Export> {
    (!name.is_empty()).then(|| Export {
        name: name.to_owned(),
        origin: Origin::Declared(kind),
        line: line_of(node),
    })
}

/// The 1-based line that a node begins in.
pub(super) fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row + 1).unwrap_or(u32::MAX)
}

/// The named children of a node.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// A node on a walk, with what is above it. Asking a node for its parent searches from the root each time.
#[allow(dead_code, reason = "not every language asks for all of it")]
pub(super) struct Place<'n> {
    pub(super) node: Node<'n>,
    /// The kind of the named node above; empty at the top.
    pub(super) parent_kind: &'n str,
    /// The field of the parent that the node is; empty for none.
    pub(super) field: &'n str,
    /// How far below the top.
    pub(super) depth: usize,
}

/// A node and all named nodes below it, parents first, in the order of the text. `enter` decides whether the children
/// of a node are visited. Trees of hostile texts are deep, so this never recurses.
pub(super) fn visit<'n>(top: Node<'n>, mut enter: impl FnMut(&Place<'n>) -> bool) {
    let mut cursor = top.walk();
    let mut above: Vec<&'n str> = Vec::new();
    loop {
        let node = cursor.node();
        let goes_down = node.is_named()
            && enter(&Place {
                node,
                parent_kind: above.last().copied().unwrap_or_default(),
                field: cursor.field_name().unwrap_or_default(),
                depth: above.len(),
            });
        if goes_down && cursor.goto_first_child() {
            above.push(node.kind());
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
            above.pop();
        }
    }
}

fn first_error(top: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = top.walk();
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            return Some(node);
        }
        if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

//! Facts of C and C++ files: what a header declares, what a source defines for others, and `#include`.
//!
//! Nothing is preprocessed: both sides of a condition are read, and a macro that hides a declaration hides it here too.

use rustc_hash::FxHashSet;
use tree_sitter::Node;

use super::syntax::{Builder, children, line_of, parse, visit};
use super::{FileFacts, ImportFlags, SymbolKind};
use crate::language::{Language, extension};

/// Reads the facts of a C or C++ file.
pub(super) fn extract(path: &str, language: Language, text: &str) -> FileFacts {
    let grammar = grammar(path, language, text);
    let Some(tree) = parse(&grammar, text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let root = tree.root_node();
    let mut reader = Reader {
        builder: Builder::new(text, root),
        is_header: is_header(path),
        guard: include_guard(text),
    };
    reader.read_items(root);
    reader.read_uses(root);
    reader.builder.finish()
}

fn is_header(path: &str) -> bool {
    !matches!(
        extension(path),
        "c" | "cc" | "cpp" | "cxx" | "c++" | "C" | "cu"
    )
}

/// A `.h` file says itself whether it is C or C++.
#[cfg(all(feature = "c", feature = "cpp"))]
fn grammar(path: &str, language: Language, text: &str) -> tree_sitter::Language {
    let is_cpp = language == Language::Cpp
        || extension(path) == "h"
            && ["class ", "namespace ", "template", "::", "public:"]
                .iter()
                .any(|sign| memchr::memmem::find(text.as_bytes(), sign.as_bytes()).is_some());
    if is_cpp {
        tree_sitter_cpp::LANGUAGE.into()
    } else {
        tree_sitter_c::LANGUAGE.into()
    }
}

#[cfg(all(feature = "cpp", not(feature = "c")))]
fn grammar(_: &str, _: Language, _: &str) -> tree_sitter::Language {
    tree_sitter_cpp::LANGUAGE.into()
}

#[cfg(all(feature = "c", not(feature = "cpp")))]
fn grammar(_: &str, _: Language, _: &str) -> tree_sitter::Language {
    tree_sitter_c::LANGUAGE.into()
}

/// The macro that keeps a header from being read twice: `#ifndef X`, `#define X`.
fn include_guard(text: &str) -> Option<&str> {
    let mut directives = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('#'));
    let first = directives.next()?.strip_prefix("#ifndef")?.trim();
    let second = directives.next()?.strip_prefix("#define")?.trim();
    (first == second).then_some(first)
}

struct Reader<'t> {
    builder: Builder<'t>,
    is_header: bool,
    guard: Option<&'t str>,
}

impl<'t> Reader<'t> {
    /// Reads declarations at file level, in namespaces and under conditions.
    fn read_items(&mut self, root: Node<'_>) {
        let mut stack = vec![root];
        while let Some(parent) = stack.pop() {
            let mut inner = Vec::new();
            for item in children(parent) {
                match item.kind() {
                    "preproc_if"
                    | "preproc_ifdef"
                    | "preproc_else"
                    | "preproc_elif"
                    | "preproc_elifdef"
                    | "linkage_specification"
                    | "declaration_list"
                    | "template_declaration"
                    | "ERROR" => inner.push(item),
                    // Names of a namespace without a name stay in their file.
                    "namespace_definition" if item.child_by_field_name("name").is_some() => {
                        inner.push(item);
                    }
                    "preproc_include" => self.read_include(item),
                    _ => self.read_item(item),
                }
            }
            stack.extend(inner.into_iter().rev());
        }
    }

    fn read_include(&mut self, item: Node<'_>) {
        let Some(path) = item.child_by_field_name("path") else {
            return;
        };
        // An include whose path is a macro's value names no file that can be known.
        if matches!(path.kind(), "string_literal" | "system_lib_string") {
            let module = self.builder.word(path).trim_matches('"');
            self.builder
                .push_open_import(module, ImportFlags::default(), line_of(item));
        }
    }

    fn read_item(&mut self, item: Node<'_>) {
        match item.kind() {
            "preproc_def" | "preproc_function_def" if self.is_header => {
                let name = self.builder.field(item, "name");
                if Some(name) != self.guard {
                    let kind = if item.kind() == "preproc_def" {
                        SymbolKind::Const
                    } else {
                        SymbolKind::Function
                    };
                    self.builder.push_export(name, kind, item);
                }
            }
            "function_definition" => {
                if self.is_header || !self.is_static(item) {
                    self.read_declarators(item, SymbolKind::Function);
                }
                self.read_type_of(item);
            }
            "declaration" => {
                self.read_type_of(item);
                let is_definition = !self.is_static(item) && !self.has_storage(item, "extern");
                if self.is_header || is_definition {
                    self.read_declarators(item, SymbolKind::Const);
                }
            }
            "type_definition" => {
                self.read_type_of(item);
                if self.is_header {
                    self.read_declarators(item, SymbolKind::Type);
                }
            }
            "alias_declaration" | "concept_definition" if self.is_header => {
                let name = self.builder.field(item, "name");
                self.builder.push_export(name, SymbolKind::Type, item);
            }
            _ => self.read_specifier(item),
        }
    }

    fn read_type_of(&mut self, item: Node<'_>) {
        if let Some(specifier) = item.child_by_field_name("type") {
            self.read_specifier(specifier);
        }
    }

    /// A type with a body; one without is only mentioned. Types of a source are its own.
    fn read_specifier(&mut self, item: Node<'_>) {
        let kind = match item.kind() {
            "struct_specifier" | "class_specifier" | "union_specifier" => SymbolKind::Class,
            "enum_specifier" => SymbolKind::Enum,
            _ => return,
        };
        let Some(body) = item.child_by_field_name("body") else {
            return;
        };
        let name = item.child_by_field_name("name");
        let is_plain = name.is_some_and(|name| name.kind() == "type_identifier");
        if let Some(name) = name.filter(|_| is_plain) {
            let name = self.builder.word(name);
            if self.is_header {
                self.builder.push_export(name, kind, item);
            } else {
                self.builder.push_binding(name, kind, item);
            }
            let bases = children(item)
                .into_iter()
                .find(|child| child.kind() == "base_class_clause");
            self.builder.push_bases(name, bases);
        }
        if kind == SymbolKind::Enum {
            for value in children(body) {
                let name = self.builder.field(value, "name");
                self.builder.push_binding(name, SymbolKind::Const, value);
            }
        }
    }

    /// The names that a declaration binds; `int *f(void)` is a function whatever its declaration says.
    fn read_declarators(&mut self, item: Node<'_>, kind: SymbolKind) {
        let mut cursor = item.walk();
        for declarator in item.children_by_field_name("declarator", &mut cursor) {
            let mut kind = kind;
            let mut at = Some(declarator);
            while let Some(node) = at {
                match node.kind() {
                    "identifier" | "type_identifier" => {
                        self.builder
                            .push_export(self.builder.word(node), kind, item);
                        break;
                    }
                    // A pointer to a function is a value.
                    "parenthesized_declarator" if kind == SymbolKind::Function => {
                        kind = SymbolKind::Const;
                        at = node.named_child(0);
                    }
                    "parenthesized_declarator" => at = node.named_child(0),
                    "function_declarator" => {
                        if kind == SymbolKind::Const {
                            kind = SymbolKind::Function;
                        }
                        at = node.child_by_field_name("declarator");
                    }
                    "reference_declarator" => at = node.named_child(0),
                    // `K::f` is defined here and declared elsewhere.
                    "qualified_identifier" => break,
                    _ => at = node.child_by_field_name("declarator"),
                }
            }
        }
    }

    fn is_static(&self, item: Node<'_>) -> bool {
        self.has_storage(item, "static")
    }

    fn has_storage(&self, item: Node<'_>, word: &str) -> bool {
        children(item).iter().any(|child| {
            child.kind() == "storage_class_specifier" && self.builder.word(*child) == word
        })
    }

    /// The names that the file uses, without those it binds in a function.
    fn read_uses(&mut self, root: Node<'_>) {
        for item in children(root) {
            let mut bound: FxHashSet<&str> = FxHashSet::default();
            visit(item, |at| {
                let node = at.node;
                if matches!(
                    node.kind(),
                    "parameter_declaration" | "init_declarator" | "optional_parameter_declaration"
                ) {
                    let mut at = node.child_by_field_name("declarator");
                    while let Some(inner) = at {
                        if inner.kind() == "identifier" {
                            bound.insert(self.builder.word(inner));
                        }
                        at = inner.child_by_field_name("declarator");
                    }
                }
                true
            });
            visit(item, |at| {
                let node = at.node;
                let is_name = matches!(
                    node.kind(),
                    "identifier" | "type_identifier" | "namespace_identifier"
                );
                if is_name {
                    let name = self.builder.word(node);
                    if !bound.contains(name) {
                        self.builder.refer(name, node);
                    }
                }
                node.kind() != "preproc_include"
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_include_guard_is_known_by_its_two_lines() {
        let text = "// x\n#ifndef A_H\n#define A_H\n#define B 1\n#endif";
        assert_eq!(include_guard(text), Some("A_H"));
        assert_eq!(include_guard("#define B 1"), None);
        assert!(is_header("a/b.hpp") && !is_header("a/b.cc"));
    }
}

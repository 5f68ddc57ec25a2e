//! Facts of PHP files: classes, functions and constants, `use`, qualified names, and files that are included.

use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::syntax::{Builder, Place, children, line_of, parse, visit};
use super::{FileFacts, ImportFlags, SymbolKind};

/// Reads the facts of a PHP file.
pub(super) fn extract(text: &str) -> FileFacts {
    let Some(tree) = parse(&tree_sitter_php::LANGUAGE_PHP.into(), text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let root = tree.root_node();
    let mut reader = Reader {
        builder: Builder::new(text, root),
        aliases: FxHashMap::default(),
    };
    reader.read_items(root);
    let facts = &mut reader.builder.facts;
    if facts.namespaces.is_empty() {
        facts.namespaces.push(String::new());
    }
    for namespace in facts.namespaces.clone() {
        reader
            .builder
            .push_open_import(&namespace, ImportFlags::IMPLICIT, 1);
    }
    reader.read_uses(root);
    reader.builder.finish()
}

struct Reader<'t> {
    builder: Builder<'t>,
    /// What `use` calls a class or namespace, in full.
    aliases: FxHashMap<&'t str, String>,
}

impl<'t> Reader<'t> {
    /// Reads declarations at file level, in namespaces and under conditions.
    fn read_items(&mut self, root: Node<'_>) {
        let mut stack = vec![root];
        while let Some(parent) = stack.pop() {
            let mut inner = Vec::new();
            for item in children(parent) {
                match item.kind() {
                    "namespace_definition" => {
                        let name = self.builder.field(item, "name").to_owned();
                        if !self.builder.facts.namespaces.contains(&name) {
                            self.builder.facts.namespaces.push(name);
                        }
                        inner.push(item);
                    }
                    "compound_statement" | "if_statement" | "else_clause" | "ERROR" => {
                        inner.push(item);
                    }
                    "namespace_use_declaration" => self.read_use(item),
                    _ => self.declare(item),
                }
            }
            stack.extend(inner.into_iter().rev());
        }
    }

    fn declare(&mut self, item: Node<'_>) {
        let kind = match item.kind() {
            "class_declaration" | "trait_declaration" => SymbolKind::Class,
            "interface_declaration" => SymbolKind::Interface,
            "enum_declaration" => SymbolKind::Enum,
            "function_definition" => SymbolKind::Function,
            "const_declaration" => {
                for element in children(item) {
                    if let Some(name) = element.named_child(0) {
                        let name = self.builder.word(name);
                        self.builder.push_export(name, SymbolKind::Const, element);
                    }
                }
                return;
            }
            "expression_statement" => return self.read_define(item),
            _ => return,
        };
        let name = self.builder.field(item, "name");
        self.builder.push_export(name, kind, item);
        let bases = children(item)
            .into_iter()
            .filter(|child| matches!(child.kind(), "base_clause" | "class_interface_clause"));
        for bases in bases {
            self.builder.push_bases(name, Some(bases));
        }
    }

    /// `define('NAME', …)` makes a constant.
    fn read_define(&mut self, item: Node<'_>) {
        let Some(call) = item
            .named_child(0)
            .filter(|call| call.kind() == "function_call_expression")
        else {
            return;
        };
        if self.builder.field(call, "function") != "define" {
            return;
        }
        let argument = call
            .child_by_field_name("arguments")
            .and_then(|arguments| arguments.named_child(0));
        if let Some(argument) = argument {
            let name = self.builder.word(argument);
            if name.starts_with(['\'', '"']) {
                let name = name.trim_matches(['\'', '"']);
                self.builder.push_export(name, SymbolKind::Const, item);
            }
        }
    }

    fn read_use(&mut self, item: Node<'_>) {
        let parts = children(item);
        let group = parts
            .iter()
            .find(|part| part.kind() == "namespace_name")
            .map_or("", |prefix| self.builder.word(*prefix));
        let clauses = parts
            .iter()
            .flat_map(|part| match part.kind() {
                "namespace_use_group" => children(*part),
                _ => vec![*part],
            })
            .filter(|clause| clause.kind() == "namespace_use_clause");
        for clause in clauses {
            let Some(path) = clause.named_child(0) else {
                continue;
            };
            let path = self.builder.word(path).trim_start_matches('\\');
            let full = if group.is_empty() {
                path.to_owned()
            } else {
                format!("{}\\{path}", group.trim_matches('\\'))
            };
            let (namespace, name) = full.rsplit_once('\\').unwrap_or(("", &full));
            let local = match self.builder.field(clause, "alias") {
                "" => path.rsplit('\\').next().unwrap_or(path),
                alias => alias,
            };
            let import =
                self.builder
                    .push_import(namespace, ImportFlags::default(), line_of(clause));
            self.builder.push_name(import, name, local);
            self.aliases.insert(local, full.clone());
        }
    }

    fn read_uses(&mut self, root: Node<'_>) {
        visit(root, |at| {
            let node = at.node;
            match node.kind() {
                "namespace_use_declaration" | "namespace_name" => return false,
                "include_expression"
                | "include_once_expression"
                | "require_expression"
                | "require_once_expression" => {
                    self.read_include(node);
                }
                "qualified_name" | "relative_name" => {
                    self.read_qualified(node);
                    return false;
                }
                "name" if names_a_declaration(at) => {
                    let name = self.builder.word(node);
                    self.builder.refer(name, node);
                }
                _ => {}
            }
            true
        });
    }

    /// `\A\B` is that name; in `A\B` the first part may be an alias, else the name begins in the own namespace.
    fn read_qualified(&mut self, node: Node<'_>) {
        let path = self.builder.word(node);
        let own = self
            .builder
            .facts
            .namespaces
            .first()
            .cloned()
            .unwrap_or_default();
        let below = |outer: &str, rest: &str| match outer {
            "" => rest.to_owned(),
            outer => format!("{outer}\\{rest}"),
        };
        let full = if let Some(full) = path.strip_prefix('\\') {
            full.to_owned()
        } else if let Some(rest) = path.strip_prefix("namespace\\") {
            below(&own, rest)
        } else {
            match path.split_once('\\') {
                Some((first, rest)) => match self.aliases.get(first) {
                    Some(alias) => below(alias, rest),
                    None => below(&own, path),
                },
                None => return,
            }
        };
        if let Some((namespace, name)) = full.rsplit_once('\\') {
            self.builder.push_qualified(namespace, name, line_of(node));
        }
    }

    /// A path that is written out: `'x.php'`, `__DIR__ . '/x.php'`, `dirname(__DIR__, 2) . '/x.php'`.
    fn read_include(&mut self, node: Node<'_>) {
        let word = node
            .named_child(0)
            .map_or("", |value| self.builder.word(value));
        if let Some(path) = included_path(word) {
            self.builder
                .push_open_import(&path, ImportFlags::REQUIRE, line_of(node));
        }
    }
}

/// The path that an include's value is, relative to the including file; `None` where it is worked out at run time.
fn included_path(value: &str) -> Option<String> {
    let value: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    let value = value
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .unwrap_or(&value);
    let (base, literal) = value.split_at(value.find(['\'', '"'])?);
    let quote = literal.chars().next()?;
    let path = literal.strip_prefix(quote)?.strip_suffix(quote)?;
    if path.contains(['\'', '"', '$', '{']) || path.is_empty() {
        return None;
    }
    let base = base.trim_end_matches('.');
    let ups = match base {
        "" => return Some(path.to_owned()),
        "__DIR__" | "dirname(__FILE__)" => 0,
        "dirname(__DIR__)" | "dirname(dirname(__FILE__))" => 1,
        _ => base
            .strip_prefix("dirname(__DIR__,")?
            .strip_suffix(')')?
            .parse::<usize>()
            .ok()
            .filter(|ups| *ups < 32)?,
    };
    Some(format!(
        "./{}{}",
        "../".repeat(ups),
        path.trim_start_matches('/')
    ))
}

/// Whether a bare name stands where a class or function is named.
fn names_a_declaration(at: &Place<'_>) -> bool {
    match at.parent_kind {
        "base_clause"
        | "class_interface_clause"
        | "use_declaration"
        | "named_type"
        | "attribute"
        | "object_creation_expression"
        // In `Name::CONSTANT` both are bare names; the second is looked for in vain.
        | "class_constant_access_expression" => true,
        "scoped_call_expression" | "scoped_property_access_expression" => at.field == "scope",
        "binary_expression" => at.field == "right",
        "function_call_expression" => at.field == "function",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_included_path_is_read_where_it_is_written_out() {
        let path = |value| included_path(value);
        assert_eq!(path("'a/b.php'").as_deref(), Some("a/b.php"));
        assert_eq!(path("__DIR__ . '/a.php'").as_deref(), Some("./a.php"));
        assert_eq!(
            path("dirname(__DIR__, 2) . '/a.php'").as_deref(),
            Some("./../../a.php")
        );
        assert_eq!(
            path("(dirname(__DIR__).\"/a.php\")").as_deref(),
            Some("./../a.php")
        );
        for value in ["$x", "ROOT . '/a.php'", "\"{$x}.php\"", "'a' . $b . 'c'"] {
            assert_eq!(path(value), None, "{value}");
        }
    }
}

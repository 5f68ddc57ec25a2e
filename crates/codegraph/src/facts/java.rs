//! Facts of Java files: top-level types, imports, and the type names that the own package or `import a.b.*` may bring.
//!
//! By convention packages are written small and types begin with a capital letter; that is how a dotted name is taken
//! apart without its class path.

use rustc_hash::FxHashSet;
use tree_sitter::Node;

use super::syntax::{Builder, children, line_of, parse, visit};
use super::{FileFacts, ImportFlags, SymbolKind};

/// Reads the facts of a Java file.
pub(super) fn extract(text: &str) -> FileFacts {
    let Some(tree) = parse(&tree_sitter_java::LANGUAGE.into(), text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let root = tree.root_node();
    let mut builder = Builder::new(text, root);
    let items = children(root);
    let package = items
        .iter()
        .find(|item| item.kind() == "package_declaration")
        .and_then(|item| item.named_child(item.named_child_count().saturating_sub(1) as u32))
        .map(|name| without_spaces(builder.word(name)))
        .unwrap_or_default();
    builder.push_open_import(&package, ImportFlags::IMPLICIT, 1);
    builder.facts.namespaces.push(package);
    for item in &items {
        match item.kind() {
            "import_declaration" => read_import(&mut builder, *item),
            _ => declare(&mut builder, *item),
        }
    }
    for item in items {
        if !matches!(item.kind(), "import_declaration" | "package_declaration") {
            read_uses(&mut builder, item);
        }
    }
    builder.finish()
}

fn without_spaces(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect()
}

fn declare(builder: &mut Builder<'_>, item: Node<'_>) {
    let kind = match item.kind() {
        "class_declaration" | "record_declaration" => SymbolKind::Class,
        "interface_declaration" | "annotation_type_declaration" => SymbolKind::Interface,
        "enum_declaration" => SymbolKind::Enum,
        _ => return,
    };
    let is_public = children(item)
        .first()
        .filter(|first| first.kind() == "modifiers")
        .is_some_and(|modifiers| {
            builder
                .word(*modifiers)
                .split_whitespace()
                .any(|word| word == "public")
        });
    let name = builder.field(item, "name");
    builder.push_bases(name, item.child_by_field_name("superclass"));
    builder.push_bases(name, item.child_by_field_name("interfaces"));
    let extended = children(item)
        .into_iter()
        .find(|child| child.kind() == "extends_interfaces");
    builder.push_bases(name, extended);
    if is_public {
        builder.push_export(name, kind, item);
    } else {
        builder.push_binding(name, kind, item);
    }
}

/// `com.x.Outer.Inner` as its package and the names of its types; without a capital letter the last part is the type.
fn split_type(dotted: &str) -> (&str, &str) {
    let mut at = 0;
    for part in dotted.split('.') {
        if part.starts_with(char::is_uppercase) {
            return (dotted[..at].trim_end_matches('.'), &dotted[at..]);
        }
        at += part.len() + 1;
    }
    dotted.rsplit_once('.').unwrap_or(("", dotted))
}

fn read_import(builder: &mut Builder<'_>, item: Node<'_>) {
    let Some(path) = item.named_child(0) else {
        return;
    };
    let dotted = without_spaces(builder.word(path));
    let is_open = children(item).iter().any(|part| part.kind() == "asterisk");
    let (package, types) = split_type(&dotted);
    let names_type = types.starts_with(char::is_uppercase);
    let line = line_of(item);
    if is_open && !names_type {
        return builder.push_open_import(&dotted, ImportFlags::default(), line);
    }
    let import = builder.push_import(package, ImportFlags::default(), line);
    let outer = types.split('.').next().unwrap_or(types);
    let local = if is_open {
        outer
    } else {
        types.rsplit('.').next().unwrap_or(types)
    };
    builder.push_name(import, outer, local);
}

/// The type names that a declaration uses, without those it declares inside itself.
fn read_uses(builder: &mut Builder<'_>, item: Node<'_>) {
    let mut declared: FxHashSet<&str> = FxHashSet::default();
    visit(item, |at| {
        let node = at.node;
        match node.kind() {
            "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration" => {
                declared.insert(builder.field(node, "name"));
            }
            "type_parameter" => {
                declared.extend(node.named_child(0).map(|name| builder.word(name)));
            }
            _ => {}
        }
        true
    });
    visit(item, |at| {
        let node = at.node;
        let named = match node.kind() {
            "type_identifier" => Some(node),
            "method_invocation" | "field_access" => node.child_by_field_name("object"),
            "marker_annotation" | "annotation" => node.child_by_field_name("name"),
            "method_reference" => node.named_child(0),
            "scoped_type_identifier" => {
                let path = without_spaces(builder.word(node));
                let (package, types) = split_type(&path);
                if package.is_empty() || types.contains('<') {
                    return true;
                }
                let outer = types.split('.').next().unwrap_or(types);
                builder.push_qualified(package, outer, line_of(node));
                return false;
            }
            _ => None,
        };
        let named = named.filter(|named| matches!(named.kind(), "identifier" | "type_identifier"));
        if let Some(named) = named {
            let name = builder.word(named);
            if name.starts_with(char::is_uppercase) && !declared.contains(name) {
                builder.refer(name, named);
            }
        }
        true
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dotted_name_is_split_at_its_first_type() {
        assert_eq!(split_type("com.x.Outer.Inner"), ("com.x", "Outer.Inner"));
        assert_eq!(split_type("com.x.lower"), ("com.x", "lower"));
        assert_eq!(split_type("Alone"), ("", "Alone"));
    }
}

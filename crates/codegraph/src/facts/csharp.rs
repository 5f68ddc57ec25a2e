//! Facts of C# files: types of a namespace, `using`, and the type names that namespaces in sight may bring.
//!
//! In C# any name may be a type; the words that begin with a capital letter and are no member are taken for one, and a
//! namespace that is in sight decides.

use rustc_hash::FxHashSet;
use tree_sitter::Node;

use super::syntax::{Builder, Place, children, line_of, parse, visit};
use super::{FileFacts, ImportFlags, SymbolKind};

/// Reads the facts of a C# file.
pub(super) fn extract(text: &str) -> FileFacts {
    let Some(tree) = parse(&tree_sitter_c_sharp::LANGUAGE.into(), text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let root = tree.root_node();
    let mut builder = Builder::new(text, root);
    read_items(&mut builder, root);
    if builder.facts.namespaces.is_empty() {
        builder.facts.namespaces.push(String::new());
    }
    read_uses(&mut builder, root);
    see_own_namespaces(&mut builder);
    builder.finish()
}

/// Reads types and `using` at file level and in namespaces.
fn read_items(builder: &mut Builder<'_>, root: Node<'_>) {
    let mut stack = vec![(root, String::new())];
    while let Some((parent, namespace)) = stack.pop() {
        let mut inner = Vec::new();
        for item in children(parent) {
            match item.kind() {
                "using_directive" => read_using(builder, item),
                "namespace_declaration" | "file_scoped_namespace_declaration" => {
                    let name = without_spaces(builder.field(item, "name"));
                    let name = match namespace.as_str() {
                        "" => name,
                        outer => format!("{outer}.{name}"),
                    };
                    if !builder.facts.namespaces.contains(&name) {
                        builder.facts.namespaces.push(name.clone());
                    }
                    inner.push((item, name));
                }
                "declaration_list" | "preproc_if" | "preproc_else" | "preproc_elif" | "ERROR" => {
                    inner.push((item, namespace.clone()));
                }
                _ => declare(builder, item),
            }
        }
        stack.extend(inner.into_iter().rev());
    }
}

fn without_spaces(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).collect()
}

fn declare(builder: &mut Builder<'_>, item: Node<'_>) {
    let kind = match item.kind() {
        "class_declaration" | "struct_declaration" | "record_declaration" => SymbolKind::Class,
        "interface_declaration" => SymbolKind::Interface,
        "enum_declaration" => SymbolKind::Enum,
        "delegate_declaration" => SymbolKind::Type,
        _ => return,
    };
    let is_file_local = children(item)
        .iter()
        .any(|child| child.kind() == "modifier" && builder.word(*child) == "file");
    let name = builder.field(item, "name");
    let bases = children(item)
        .into_iter()
        .find(|child| child.kind() == "base_list");
    builder.push_bases(name, bases);
    if is_file_local {
        builder.push_binding(name, kind, item);
    } else {
        builder.push_export(name, kind, item);
    }
}

fn read_using(builder: &mut Builder<'_>, item: Node<'_>) {
    let line = line_of(item);
    let alias = builder.field(item, "name");
    let parts = children(item);
    let path = parts
        .iter()
        .rev()
        .find(|part| matches!(part.kind(), "qualified_name" | "identifier"));
    let Some(path) = path.map(|path| without_spaces(builder.word(*path))) else {
        return;
    };
    let mut cursor = item.walk();
    let is_static = item
        .children(&mut cursor)
        .any(|child| child.kind() == "static");
    if alias.is_empty() && !is_static {
        return builder.push_open_import(&path, ImportFlags::default(), line);
    }
    let (namespace, name) = path.rsplit_once('.').unwrap_or(("", &path));
    let import = builder.push_import(namespace, ImportFlags::default(), line);
    builder.push_name(import, name, if alias.is_empty() { name } else { alias });
}

/// A type sees its own namespace and those around it, the nearest first, before what `using` brings.
fn see_own_namespaces(builder: &mut Builder<'_>) {
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let explicit = std::mem::take(&mut builder.facts.imports);
    for namespace in builder.facts.namespaces.clone() {
        let mut around = namespace.as_str();
        loop {
            if seen.insert(around.to_owned()) {
                builder.push_open_import(around, ImportFlags::IMPLICIT, 1);
            }
            if around.is_empty() {
                break;
            }
            around = around.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
    }
    builder.facts.imports.extend(explicit);
}

fn read_uses(builder: &mut Builder<'_>, root: Node<'_>) {
    let mut declared: FxHashSet<&str> = FxHashSet::default();
    visit(root, |at| {
        let node = at.node;
        match node.kind() {
            "type_parameter" => {
                declared.insert(builder.field(node, "name"));
            }
            "class_declaration"
            | "struct_declaration"
            | "record_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "delegate_declaration" => {
                declared.insert(builder.field(node, "name"));
            }
            _ => {}
        }
        true
    });
    visit(root, |at| match at.node.kind() {
        "using_directive" => false,
        "qualified_name" => {
            let path = without_spaces(builder.word(at.node));
            let is_name_of_namespace = at.parent_kind.ends_with("namespace_declaration");
            if is_name_of_namespace || path.contains('<') {
                return !is_name_of_namespace;
            }
            if let Some((namespace, name)) = path.rsplit_once('.') {
                let namespace = namespace.trim_start_matches("global::");
                builder.push_qualified(namespace, name, line_of(at.node));
            }
            false
        }
        "identifier" => {
            let name = builder.word(at.node);
            if name.starts_with(char::is_uppercase) && !declared.contains(name) && !is_member(at) {
                builder.refer(name, at.node);
                // `[Route]` means `RouteAttribute` where there is one.
                if at.parent_kind == "attribute" {
                    builder.refer(&format!("{name}Attribute"), at.node);
                }
            }
            false
        }
        _ => true,
    });
}

/// Whether a name is that of a declaration, or taken out of a value.
fn is_member(at: &Place<'_>) -> bool {
    match at.parent_kind {
        "attribute" | "generic_name" => false,
        "invocation_expression" => true,
        kind => at.field == "name" || kind.ends_with("namespace_declaration"),
    }
}

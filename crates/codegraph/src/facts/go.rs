//! Facts of Go files: capitalised declarations, imports with the names used through them, and what is used of other
//! files of the same package. Method calls on values need types and are not read.

use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::Node;

use super::syntax::{Builder, children, line_of, parse, visit};
use super::{FileFacts, ImportFlags, SymbolKind};

/// Names of the universe block, which no package brings.
#[rustfmt::skip]
const UNIVERSE: [&str; 40] = [
    "any", "append", "bool", "byte", "cap", "clear", "close", "comparable", "complex", "complex128", "complex64",
    "copy", "delete", "error", "float32", "float64", "imag", "int", "int16", "int32", "int64", "int8", "iota", "len",
    "make", "max", "min", "new", "panic", "print", "println", "real", "recover", "rune", "string", "uint", "uint16",
    "uint32", "uint64", "uint8",
];

/// Reads the facts of a Go file. `path` tells tests, whose package may stand beside the one they test.
pub(super) fn extract(path: &str, text: &str) -> FileFacts {
    let Some(tree) = parse(&tree_sitter_go::LANGUAGE.into(), text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let root = tree.root_node();
    let mut reader = Reader {
        builder: Builder::new(text, root),
        packages: FxHashMap::default(),
    };
    let items = children(root);
    for item in &items {
        reader.read_item(path, *item);
    }
    for item in items {
        reader.read_uses(item);
    }
    reader.builder.finish()
}

struct Reader<'t> {
    builder: Builder<'t>,
    /// Imports by the names that packages are called by.
    packages: FxHashMap<&'t str, u32>,
}

impl<'t> Reader<'t> {
    fn read_item(&mut self, path: &str, item: Node<'_>) {
        match item.kind() {
            "package_clause" => {
                // Files of one package use each other's names without an import.
                let name = item
                    .named_child(0)
                    .map_or("", |name| self.builder.word(name));
                let module = match name.strip_suffix("_test") {
                    Some(_) if path.ends_with("_test.go") => "_test",
                    _ => ".",
                };
                self.builder
                    .push_open_import(module, ImportFlags::IMPLICIT, line_of(item));
            }
            "import_declaration" => {
                visit(item, |at| {
                    if at.node.kind() == "import_spec" {
                        self.read_import(at.node);
                    }
                    true
                });
            }
            "function_declaration" => {
                self.declare(self.builder.field(item, "name"), SymbolKind::Function, item);
            }
            "type_declaration" => children(item)
                .into_iter()
                .for_each(|spec| self.read_type(spec)),
            "const_declaration" | "var_declaration" => visit(item, |at| {
                let node = at.node;
                let is_specification = matches!(node.kind(), "const_spec" | "var_spec");
                if is_specification {
                    let mut cursor = node.walk();
                    for name in node.children_by_field_name("name", &mut cursor) {
                        self.declare(self.builder.word(name), SymbolKind::Const, name);
                    }
                }
                !is_specification
            }),
            _ => {}
        }
    }

    fn read_type(&mut self, spec: Node<'_>) {
        let kind = match spec.child_by_field_name("type").map(|body| body.kind()) {
            Some("struct_type") => SymbolKind::Class,
            Some("interface_type") => SymbolKind::Interface,
            _ => SymbolKind::Type,
        };
        self.declare(self.builder.field(spec, "name"), kind, spec);
    }

    /// A capital letter exports a name; every other is the package's own.
    fn declare(&mut self, name: &str, kind: SymbolKind, node: Node<'_>) {
        match name {
            "" | "_" | "init" | "main" => {}
            name if name.starts_with(char::is_uppercase) => {
                self.builder.push_export(name, kind, node);
            }
            name => self.builder.push_binding(name, kind, node),
        }
    }

    fn read_import(&mut self, spec: Node<'_>) {
        let path = self
            .builder
            .field(spec, "path")
            .trim_matches(['"', '`'])
            .to_owned();
        if path.is_empty() {
            return;
        }
        let line = line_of(spec);
        match self.builder.field(spec, "name") {
            "_" => {
                self.builder
                    .push_import(&path, ImportFlags::SIDE_EFFECT, line);
            }
            "." => self
                .builder
                .push_open_import(&path, ImportFlags::default(), line),
            "" => {
                let import = self
                    .builder
                    .push_import(&path, ImportFlags::default(), line);
                let text = self.builder.field(spec, "path").trim_matches(['"', '`']);
                for name in package_names(text) {
                    self.packages.entry(name).or_insert(import);
                }
            }
            name => {
                let import = self
                    .builder
                    .push_import(&path, ImportFlags::default(), line);
                self.packages.insert(name, import);
            }
        }
    }

    /// The names that a declaration uses, of imported packages and of its own.
    fn read_uses(&mut self, item: Node<'_>) {
        if matches!(item.kind(), "package_clause" | "import_declaration") {
            return;
        }
        let locals = self.locals_of(item);
        visit(item, |at| {
            let node = at.node;
            match node.kind() {
                "selector_expression" => {
                    let operand = node
                        .child_by_field_name("operand")
                        .filter(|operand| operand.kind() == "identifier");
                    if let Some(operand) = operand {
                        let name = self.builder.word(operand);
                        if !locals.contains(name) {
                            self.read_qualified(name, self.builder.field(node, "field"));
                        }
                    }
                }
                "qualified_type" => self.read_qualified(
                    self.builder.field(node, "package"),
                    self.builder.field(node, "name"),
                ),
                // In `T{Name: value}` the key is a field of the type.
                "literal_element" if at.field == "key" => {
                    let is_name = node
                        .named_child(0)
                        .is_some_and(|key| key.kind() == "identifier");
                    return !is_name;
                }
                _ => self.read_name(node, &locals),
            }
            true
        });
    }

    fn read_name(&mut self, node: Node<'_>, locals: &FxHashSet<&str>) {
        if matches!(node.kind(), "identifier" | "type_identifier") {
            let name = self.builder.word(node);
            if !locals.contains(name)
                && !self.packages.contains_key(name)
                && UNIVERSE.binary_search(&name).is_err()
            {
                self.builder.refer(name, node);
            }
        }
    }

    fn read_qualified(&mut self, package: &str, name: &str) {
        if let Some(import) = self.packages.get(package) {
            self.builder.push_name(*import, name, name);
        }
    }

    /// Every name that a declaration binds inside itself, in any scope: one that is bound there is taken for local
    /// everywhere in it.
    fn locals_of(&self, item: Node<'_>) -> FxHashSet<&'t str> {
        let mut locals = FxHashSet::default();
        let mut bind = |node: Option<Node<'_>>| {
            if let Some(node) = node {
                visit(node, |at| {
                    let inner = at.node;
                    if matches!(inner.kind(), "identifier" | "type_identifier") {
                        locals.insert(self.builder.word(inner));
                    }
                    matches!(inner.kind(), "expression_list" | "identifier")
                });
            }
        };
        let is_function = matches!(
            item.kind(),
            "function_declaration" | "method_declaration" | "var_declaration"
        );
        visit(item, |at| {
            let node = at.node;
            match node.kind() {
                "parameter_declaration"
                | "variadic_parameter_declaration"
                | "type_parameter_declaration" => {
                    let mut cursor = node.walk();
                    for name in node.children_by_field_name("name", &mut cursor) {
                        bind(Some(name));
                    }
                }
                "short_var_declaration" | "range_clause" | "receive_statement" => {
                    bind(node.child_by_field_name("left"));
                }
                "type_switch_statement" => bind(node.child_by_field_name("alias")),
                "var_spec" | "const_spec" | "type_spec" | "type_alias"
                    if is_function && at.depth > 1 =>
                {
                    let mut cursor = node.walk();
                    for name in node.children_by_field_name("name", &mut cursor) {
                        bind(Some(name));
                    }
                }
                _ => {}
            }
            true
        });
        locals
    }
}

/// What code may call a package of a path, likeliest first: its last part without a version, and that part without the
/// `go-` or `-go` that repositories carry.
fn package_names(path: &str) -> Vec<&str> {
    let is_version = |part: &str| {
        part.strip_prefix('v')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut parts = path.rsplit('/').filter(|part| !is_version(part));
    let last = parts.next().unwrap_or(path);
    let last = match last.rsplit_once('.') {
        Some((name, version)) if is_version(version) => name,
        _ => last,
    };
    let mut names = vec![last];
    let bare = last.strip_prefix("go-").unwrap_or(last);
    let bare = bare.strip_suffix("-go").unwrap_or(bare);
    let bare = bare.strip_suffix(".go").unwrap_or(bare);
    names.push(bare);
    names.extend(bare.rsplit(['-', '.']));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_called_by_the_end_of_its_path() {
        assert_eq!(package_names("fmt")[0], "fmt");
        assert_eq!(package_names("example.com/m/v2")[0], "m");
        assert_eq!(package_names("gopkg.in/yaml.v3")[0], "yaml");
        assert!(package_names("github.com/x/go-units").contains(&"units"));
        assert!(UNIVERSE.is_sorted());
    }
}

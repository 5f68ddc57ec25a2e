//! Facts of Rust files, from tree-sitter's syntax tree: public items, `mod` and `use`, and paths that begin with
//! `crate`, `super` or `self`. Without a type checker, use is not judged: no import counts as unused.

use rustc_hash::FxHashMap;
use tree_sitter::Node;

use super::syntax::{Builder, line_of, parse};
use super::{Export, FileFacts, Import, ImportFlags, ImportedName, Origin, SymbolKind};

/// Reads the facts of a Rust file.
pub(super) fn extract(text: &str) -> FileFacts {
    let Some(tree) = parse(&tree_sitter_rust::LANGUAGE.into(), text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let mut reader = Reader {
        text,
        facts: Builder::new(text, tree.root_node()).facts,
        modules: FxHashMap::default(),
    };
    reader.read_items(tree.root_node(), 0);
    reader.facts
}

struct Reader<'t> {
    text: &'t str,
    facts: FileFacts,
    /// Modules of the crate by the name that the file calls them, with their paths.
    modules: FxHashMap<String, String>,
}

impl Reader<'_> {
    fn word(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Reads the items of a file or, at a `depth`, of a module written inside of it.
    fn read_items(&mut self, parent: Node<'_>, depth: usize) {
        let mut path_attribute = None;
        let mut is_macro_exported = false;
        let mut with_paths = Vec::new();
        let mut cursor = parent.walk();
        for item in parent.named_children(&mut cursor) {
            match item.kind() {
                "attribute_item" => {
                    let attribute = self.word(item);
                    is_macro_exported |= attribute.contains("macro_export");
                    if attribute.starts_with("#[path") {
                        path_attribute = attribute.split('"').nth(1).map(str::to_owned);
                    }
                    continue;
                }
                "line_comment" | "block_comment" => continue,
                "use_declaration" => self.read_use(item, depth),
                "mod_item" => self.read_module(item, depth, path_attribute.take()),
                "macro_definition" if is_macro_exported => {
                    self.read_export(item, SymbolKind::Function);
                }
                kind => {
                    if let Some(kind) =
                        kind_of_item(kind).filter(|_| depth == 0 && self.is_public(item))
                    {
                        self.read_export(item, kind);
                    }
                    with_paths.push(item);
                }
            }
            path_attribute = None;
            is_macro_exported = false;
        }
        // Only now are all modules known that a path may begin with.
        for item in with_paths {
            self.read_paths(item, depth);
        }
    }

    fn is_public(&self, item: Node<'_>) -> bool {
        let mut cursor = item.walk();
        item.children(&mut cursor)
            .any(|child| child.kind() == "visibility_modifier" && self.word(child) != "pub(self)")
    }

    fn read_export(&mut self, item: Node<'_>, kind: SymbolKind) {
        if let Some(name) = item.child_by_field_name("name") {
            let (name, line) = (self.word(name).to_owned(), line_of(item));
            self.facts.exports.push(Export {
                name,
                origin: Origin::Declared(kind),
                line,
            });
        }
    }

    fn read_module(&mut self, item: Node<'_>, depth: usize, path: Option<String>) {
        if let Some(body) = item.child_by_field_name("body") {
            if depth == 0 && self.is_public(item) {
                self.read_export(item, SymbolKind::Const);
            }
            return self.read_items(body, depth + 1);
        }
        let Some(name) = item
            .child_by_field_name("name")
            .map(|name| self.word(name).to_owned())
        else {
            return;
        };
        if depth == 0 {
            self.modules.insert(name.clone(), format!("self::{name}"));
        }
        let module = path.map_or_else(|| format!("mod {name}"), |path| format!("mod \"{path}\""));
        let import = self.push_import(module, ImportFlags::default(), item);
        self.push_name(import, "*", &name);
        if depth == 0 && self.is_public(item) {
            let origin = Origin::Imported {
                import,
                name: "*".to_owned(),
            };
            self.facts.exports.push(Export {
                name,
                origin,
                line: line_of(item),
            });
        }
    }

    fn read_use(&mut self, item: Node<'_>, depth: usize) {
        let Some(argument) = item.child_by_field_name("argument") else {
            return;
        };
        let is_passed_on = depth == 0 && self.is_public(item);
        let mut taken = Vec::new();
        self.flatten(argument, "", &mut taken);
        for (prefix, name, local) in taken {
            let (prefix, name) = if prefix.is_empty() {
                (name, "*".to_owned())
            } else {
                (prefix, name)
            };
            let flags = if is_passed_on {
                ImportFlags::REEXPORT
            } else {
                ImportFlags::default()
            };
            let prefix = at_file_level(&prefix, depth);
            let known = self.facts.imports.iter().position(|import| {
                import.line == line_of(item)
                    && import.module == prefix
                    && name != "*"
                    && !import.names.iter().any(|name| name.imported == "*")
            });
            let import = match known.and_then(|index| u32::try_from(index).ok()) {
                Some(index) => index,
                None => self.push_import(prefix.clone(), flags, item),
            };
            let is_glob = name == "*" && local.is_empty();
            let is_of_crate = begins_in_crate(&prefix);
            if is_of_crate && depth == 0 && local.starts_with(char::is_lowercase) {
                let path = match name.as_str() {
                    "*" => prefix.clone(),
                    name => format!("{prefix}::{name}"),
                };
                self.modules.insert(local.clone(), path);
            }
            self.push_name(import, &name, &local);
            if is_passed_on && is_glob {
                self.facts.star_exports.push(import);
            } else if is_passed_on && local != "_" {
                let origin = Origin::Imported { import, name };
                self.facts.exports.push(Export {
                    name: local,
                    origin,
                    line: line_of(item),
                });
            }
        }
    }

    /// The names of a use tree as prefix, name and local name.
    fn flatten(&self, tree: Node<'_>, prefix: &str, taken: &mut Vec<(String, String, String)>) {
        let join = |tail: &str| {
            if prefix.is_empty() {
                tail.to_owned()
            } else {
                format!("{prefix}::{tail}")
            }
        };
        let field = |name: &str| tree.child_by_field_name(name);
        let mut cursor = tree.walk();
        match tree.kind() {
            "use_list" => {
                tree.named_children(&mut cursor)
                    .for_each(|child| self.flatten(child, prefix, taken));
            }
            "scoped_use_list" => {
                let path =
                    field("path").map_or_else(|| prefix.to_owned(), |path| join(self.word(path)));
                if let Some(list) = field("list") {
                    self.flatten(list, &path, taken);
                }
            }
            "use_wildcard" => {
                let path = tree
                    .named_child(0)
                    .map_or_else(|| prefix.to_owned(), |path| join(self.word(path)));
                taken.push((path, "*".to_owned(), String::new()));
            }
            "use_as_clause" => {
                if let (Some(path), Some(alias)) = (field("path"), field("alias")) {
                    let (before, name) = split_last(&join(self.word(path)));
                    taken.push((before, name, self.word(alias).to_owned()));
                }
            }
            "self" => {
                let (_, local) = split_last(prefix);
                taken.push((prefix.to_owned(), "*".to_owned(), local));
            }
            _ => {
                let (before, name) = split_last(&join(self.word(tree)));
                taken.push((before, name.clone(), name));
            }
        }
    }

    /// Paths in bodies and signatures: `crate::store::open()` depends on `store` without a `use`, and `store::open()` on
    /// what `store` is called here.
    fn read_paths(&mut self, item: Node<'_>, depth: usize) {
        let mut stack = vec![item];
        while let Some(node) = stack.pop() {
            match node.kind() {
                "use_declaration" => self.read_use(node, depth + 1),
                "scoped_identifier" | "scoped_type_identifier" => self.read_path(node, depth),
                _ => {
                    let mut cursor = node.walk();
                    let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
                    stack.extend(children.into_iter().rev());
                }
            }
        }
    }

    fn read_path(&mut self, node: Node<'_>, depth: usize) {
        let path = self.word(node);
        if path.contains(['<', '\n']) {
            return;
        }
        let (path, depth) = if begins_in_crate(path) {
            (path.to_owned(), depth)
        } else {
            let (first, rest) = path.split_once("::").unwrap_or((path, ""));
            match self.modules.get(first) {
                Some(module) => (format!("{module}::{rest}"), 0),
                None => return,
            }
        };
        let (prefix, name) = split_last(up_to_type(&path));
        let prefix = at_file_level(&prefix, depth);
        let is_known = self.facts.imports.iter().rev().any(|import| {
            import.module == prefix && import.names.iter().any(|taken| taken.imported == name)
        });
        if !is_known {
            let import = self.push_import(prefix, ImportFlags::default(), node);
            self.push_name(import, &name, &name);
        }
    }

    fn push_import(&mut self, module: String, flags: ImportFlags, node: Node<'_>) -> u32 {
        let index = u32::try_from(self.facts.imports.len()).unwrap_or(u32::MAX);
        let line = line_of(node);
        self.facts.imports.push(Import {
            module,
            names: Vec::new(),
            flags,
            line,
            whole_module: false,
        });
        index
    }

    fn push_name(&mut self, import: u32, imported: &str, local: &str) {
        self.facts.imports[import as usize]
            .names
            .push(ImportedName::used(imported, local));
    }
}

fn kind_of_item(kind: &str) -> Option<SymbolKind> {
    Some(match kind {
        "function_item" | "function_signature_item" => SymbolKind::Function,
        "struct_item" | "union_item" => SymbolKind::Class,
        "enum_item" => SymbolKind::Enum,
        "trait_item" => SymbolKind::Interface,
        "type_item" => SymbolKind::Type,
        "const_item" | "static_item" => SymbolKind::Const,
        _ => return None,
    })
}

fn begins_in_crate(path: &str) -> bool {
    ["crate", "super", "self"].iter().any(|start| {
        path.strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// A path without what is taken out of a type: `crate::store::Store` of `crate::store::Store::open`.
fn up_to_type(path: &str) -> &str {
    let mut at = 0;
    for part in path.split("::") {
        at += part.len();
        if part.trim().starts_with(char::is_uppercase) {
            return &path[..at];
        }
        at += "::".len();
    }
    path
}

/// A path of a module written inside a file, as the file itself would write it: each `super` leaves one such module.
fn at_file_level(path: &str, depth: usize) -> String {
    let mut path = path;
    for _ in 0..depth {
        match path.strip_prefix("super") {
            Some(rest) => path = rest.trim_start_matches("::"),
            None => break,
        }
    }
    if path.is_empty() {
        "self".to_owned()
    } else {
        path.to_owned()
    }
}

fn split_last(path: &str) -> (String, String) {
    let path: String = path.chars().filter(|c| !c.is_whitespace()).collect();
    match path.rsplit_once("::") {
        Some((before, name)) => (before.to_owned(), name.to_owned()),
        None => (String::new(), path),
    }
}

//! Facts of Ruby files: modules, classes, methods and constants at any nesting, `require` in its forms, and the
//! constants that a file uses.
//!
//! A module that only holds other modules and classes is a name that many files open, and no export of any of them.

use rustc_hash::FxHashSet;
use tree_sitter::Node;

use super::syntax::{Builder, children, line_of, parse, visit};
use super::{Base, FileFacts, ImportFlags, SymbolKind};

/// Reads the facts of a Ruby file.
pub(super) fn extract(text: &str) -> FileFacts {
    let Some(tree) = parse(&tree_sitter_ruby::LANGUAGE.into(), text) else {
        return FileFacts::unreadable("the parser gave up");
    };
    let root = tree.root_node();
    let mut reader = Reader {
        builder: Builder::new(text, root),
        declared: FxHashSet::default(),
    };
    reader.read_items(root);
    reader.read_requires(root);
    reader.read_constants(root);
    reader.builder.finish()
}

struct Reader<'t> {
    builder: Builder<'t>,
    /// The names of what the file declares, also of the modules that are no exports.
    declared: FxHashSet<&'t str>,
}

impl<'t> Reader<'t> {
    fn read_items(&mut self, root: Node<'_>) {
        let mut stack = vec![(root, String::new())];
        while let Some((parent, nesting)) = stack.pop() {
            let mut inner = Vec::new();
            for item in children(parent) {
                match item.kind() {
                    "module" | "class" => {
                        let name = self.builder.field(item, "name");
                        let nesting = match nesting.as_str() {
                            "" => name.to_owned(),
                            outer => format!("{outer}::{name}"),
                        };
                        if !self.builder.facts.namespaces.contains(&nesting) {
                            self.builder.facts.namespaces.push(nesting.clone());
                        }
                        self.declare_module(item, name);
                        let body = item.child_by_field_name("body");
                        inner.extend(body.map(|body| (body, nesting)));
                    }
                    "method" if nesting.is_empty() => {
                        let name = self.builder.field(item, "name");
                        self.builder.push_export(name, SymbolKind::Function, item);
                    }
                    "assignment" => {
                        let left = item.child_by_field_name("left");
                        if let Some(left) = left.filter(|left| left.kind() == "constant") {
                            let name = self.builder.word(left);
                            self.declared.insert(name);
                            self.builder.push_export(name, SymbolKind::Const, item);
                        }
                    }
                    "if" | "unless" | "begin" | "then" | "else" | "body_statement" | "ERROR" => {
                        inner.push((item, nesting.clone()));
                    }
                    _ => {}
                }
            }
            stack.extend(inner.into_iter().rev());
        }
    }

    fn declare_module(&mut self, item: Node<'_>, name: &'t str) {
        let name = name.rsplit("::").next().unwrap_or(name);
        self.declared.insert(name);
        let body = item
            .child_by_field_name("body")
            .map(children)
            .unwrap_or_default();
        let is_namespace = item.kind() == "module"
            && !body.is_empty()
            && body
                .iter()
                .all(|inner| matches!(inner.kind(), "module" | "class" | "comment"));
        if !is_namespace {
            let kind = if item.kind() == "class" {
                SymbolKind::Class
            } else {
                SymbolKind::Const
            };
            self.builder.push_export(name, kind, item);
            let superclass = item.child_by_field_name("superclass");
            let path = superclass.map_or("", |superclass| self.builder.word(superclass));
            let path = path.trim_start_matches('<').trim();
            let base = path.rsplit("::").next().unwrap_or(path);
            if base.starts_with(char::is_uppercase) && base.chars().all(char::is_alphanumeric) {
                self.builder.facts.bases.push(Base::new(name, base));
            }
        }
    }

    fn read_requires(&mut self, root: Node<'_>) {
        visit(root, |at| {
            let node = at.node;
            if node.kind() == "call" && node.child_by_field_name("receiver").is_none() {
                self.read_require(node);
            }
            true
        });
    }

    fn read_require(&mut self, call: Node<'_>) {
        let arguments = call
            .child_by_field_name("arguments")
            .map(children)
            .unwrap_or_default();
        let method = self.builder.field(call, "method");
        let (argument, flags) = match (method, arguments.as_slice()) {
            ("require" | "load" | "require_relative" | "require_dependency", [argument]) => {
                (*argument, ImportFlags::REQUIRE)
            }
            ("autoload", [_, argument]) => {
                (*argument, ImportFlags::REQUIRE.with(ImportFlags::DYNAMIC))
            }
            _ => return,
        };
        let (path, is_relative) = match argument.kind() {
            "string" => (
                self.builder.word(argument).trim_matches(['\'', '"']),
                method == "require_relative",
            ),
            // `File.expand_path('../x', __FILE__)`, `File.join(__dir__, 'x')`
            "call" => match self.path_beside(argument) {
                Some(path) => (path, true),
                None => return,
            },
            _ => return,
        };
        if path.is_empty() || path.contains("#{") {
            return;
        }
        let module = if is_relative && !path.starts_with('.') {
            format!("./{path}")
        } else {
            path.to_owned()
        };
        self.builder.push_open_import(&module, flags, line_of(call));
    }

    /// The path in a call that builds one from the place of the file itself.
    fn path_beside(&self, call: Node<'_>) -> Option<&'t str> {
        let arguments = children(call.child_by_field_name("arguments")?);
        let words: Vec<&'t str> = arguments
            .iter()
            .map(|argument| self.builder.word(*argument))
            .collect();
        let literal = |word: &'t str| {
            word.starts_with(['\'', '"'])
                .then(|| word.trim_matches(['\'', '"']))
        };
        match (self.builder.field(call, "method"), words.as_slice()) {
            // The file itself counts as one step of the path.
            ("expand_path", [path, "__FILE__"]) => literal(path)?.strip_prefix("../"),
            ("expand_path", [path, "__dir__"]) => literal(path),
            ("join", ["__dir__", path]) => literal(path),
            _ => None,
        }
    }

    /// Constants that the file uses: for what it requires, and in full for what loads by its name.
    fn read_constants(&mut self, root: Node<'_>) {
        visit(root, |at| {
            let node = at.node;
            let is_part = at.parent_kind == "scope_resolution";
            let is_declaration = matches!(
                (at.parent_kind, at.field),
                ("class" | "module", "name") | ("assignment", "left")
            );
            match node.kind() {
                "scope_resolution" => {
                    if !is_declaration && !is_part {
                        let path = self.builder.word(node).trim_start_matches("::");
                        self.push_constant(path, node);
                    }
                    !is_declaration
                }
                "constant" => {
                    let name = self.builder.word(node);
                    if !is_declaration && !self.declared.contains(name) {
                        self.builder.refer(name, node);
                        if !is_part {
                            self.push_constant(name, node);
                        }
                    }
                    false
                }
                _ => true,
            }
        });
    }

    fn push_constant(&mut self, path: &str, node: Node<'_>) {
        let is_plain = path.split("::").all(|part| {
            part.starts_with(char::is_uppercase) && !part.contains(char::is_whitespace)
        });
        let name = path.rsplit("::").next().unwrap_or(path);
        if is_plain && !self.declared.contains(name) {
            self.builder.push_qualified(path, name, line_of(node));
        }
    }
}

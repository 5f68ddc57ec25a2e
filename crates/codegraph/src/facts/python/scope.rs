//! Python's lexical scopes: what is bound where, and which binding a name refers to.

use ruff_python_ast::name::Name;
use rustc_hash::{FxHashMap, FxHashSet};

/// An imported name: index of the import, index of the name in it.
pub(super) type ImportRef = (u32, u32);

/// What opens a scope.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    Module,
    Class,
    Function,
    /// Comprehensions and type parameters: they see the names of a class around them.
    Inner,
}

#[derive(Default)]
struct Binding {
    /// The imports among the bindings of this name; only those still in force at the end.
    imports: Vec<ImportRef>,
    used: bool,
    /// What references take out of the name (`b.c` of `a.b.c`); empty for the name as it is.
    chains: Vec<String>,
}

/// An import with what became of its name.
pub(super) struct Settled {
    pub(super) import: ImportRef,
    pub(super) is_used: bool,
    pub(super) chains: Vec<String>,
}

struct Scope {
    kind: ScopeKind,
    parent: Option<usize>,
    bindings: FxHashMap<Name, Binding>,
    /// Names declared `global` or `nonlocal`.
    elsewhere: FxHashSet<Name>,
}

/// All scopes of a module; bindings are added in source order and references settled at the end.
pub(super) struct Scopes {
    scopes: Vec<Scope>,
    current: usize,
    references: Vec<(usize, Name, String)>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        let module = Scope {
            kind: ScopeKind::Module,
            parent: None,
            bindings: FxHashMap::default(),
            elsewhere: FxHashSet::default(),
        };
        Self {
            scopes: vec![module],
            current: 0,
            references: Vec::new(),
        }
    }

    pub(super) fn enter(&mut self, kind: ScopeKind) {
        let parent = Some(self.current);
        self.current = self.scopes.len();
        self.scopes.push(Scope {
            kind,
            parent,
            bindings: FxHashMap::default(),
            elsewhere: FxHashSet::default(),
        });
    }

    pub(super) fn leave(&mut self) {
        self.current = self.scopes[self.current].parent.unwrap_or(0);
    }

    pub(super) fn in_module(&self) -> bool {
        self.current == 0
    }

    /// Binds a name to something that is no import; an import of that name before is out of force.
    pub(super) fn bind(&mut self, name: &Name) {
        let scope = &mut self.scopes[self.current];
        if let Some(binding) = scope.bindings.get_mut(name) {
            binding.imports.clear();
        } else {
            scope.bindings.insert(name.clone(), Binding::default());
        }
    }

    /// Binds the target of `:=`, which belongs to the scope around comprehensions.
    pub(super) fn bind_walrus(&mut self, name: &Name) {
        let inner = self.current;
        while self.scopes[self.current].kind == ScopeKind::Inner {
            self.current = self.scopes[self.current].parent.unwrap_or(0);
        }
        self.bind(name);
        self.current = inner;
    }

    /// Binds a name to an import. `joins` keeps an earlier import of the name in force (`import a.b`, `import a.c`).
    /// Answers whether the name is declared `global` or `nonlocal` here, so that its use can't be judged.
    pub(super) fn bind_import(&mut self, name: &Name, import: ImportRef, joins: bool) -> bool {
        let scope = &mut self.scopes[self.current];
        let binding = scope.bindings.entry(name.clone()).or_default();
        if !joins {
            binding.imports.clear();
        }
        binding.imports.push(import);
        scope.elsewhere.contains(name)
    }

    pub(super) fn declare_elsewhere(&mut self, name: &Name) {
        self.scopes[self.current].elsewhere.insert(name.clone());
        self.references.push((0, name.clone(), String::new()));
    }

    pub(super) fn refer(&mut self, name: &Name) {
        self.refer_to_member(name, String::new());
    }

    /// Refers to a name for something that is taken out of it.
    pub(super) fn refer_to_member(&mut self, name: &Name, chain: String) {
        self.references.push((self.current, name.clone(), chain));
    }

    pub(super) fn refer_from_module(&mut self, name: &str) {
        self.references.push((0, Name::new(name), String::new()));
    }

    /// Settles all references and answers what became of the imports that are in force.
    pub(super) fn settle(mut self) -> Vec<Settled> {
        let references = std::mem::take(&mut self.references);
        for (scope, name, chain) in references {
            self.mark(scope, &name, &chain);
        }
        let bindings = self.scopes.iter().flat_map(|scope| scope.bindings.values());
        bindings
            .flat_map(|binding| {
                binding.imports.iter().map(|import| Settled {
                    import: *import,
                    is_used: binding.used,
                    chains: binding.chains.clone(),
                })
            })
            .collect()
    }

    fn mark(&mut self, from: usize, name: &Name, chain: &str) {
        let mut at = Some(from);
        let mut through_function = false;
        while let Some(index) = at {
            let scope = &mut self.scopes[index];
            let hidden = scope.kind == ScopeKind::Class && through_function;
            if !hidden && let Some(binding) = scope.bindings.get_mut(name) {
                binding.used = true;
                if !binding.imports.is_empty() && !binding.chains.iter().any(|known| known == chain)
                {
                    binding.chains.push(chain.to_owned());
                }
                // A name that a class body or a later statement also binds may still come from outside.
                if scope.kind != ScopeKind::Class {
                    return;
                }
            }
            through_function |= scope.kind == ScopeKind::Function;
            at = scope.parent;
        }
    }
}

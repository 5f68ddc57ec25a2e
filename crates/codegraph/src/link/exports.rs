//! What every file exports once re-exports are followed: `export *` by fixpoint, names to where they are defined.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{LinkFile, LinkOrigin, Words};
use crate::facts::SymbolKind;
use crate::interner::Interner;
use crate::language::{Language, extension, file_name};
use crate::resolve::ResolvedImport;

/// How far a name is followed through re-exports; only a cycle is longer.
const CHAIN_LIMIT: usize = 64;

/// A name of a file.
#[derive(Clone, Copy, PartialEq)]
enum Entry {
    Declared(SymbolKind),
    /// Another file's name; `None` for the file as a whole.
    From(u32, Option<u32>),
    /// From outside of the folder.
    Foreign,
}

/// The exported names of all files.
pub(super) struct ExportTables {
    /// Exported and otherwise importable names by file and name.
    entries: FxHashMap<(u32, u32), Entry>,
    /// The exported names of every file with their kinds.
    exported: Vec<Vec<(u32, SymbolKind)>>,
    /// The files that declare a name, exported or not, of languages where a name may come from any file of a package.
    declared_in: FxHashMap<u32, Vec<u32>>,
}

impl ExportTables {
    pub(super) fn build(
        files: &[LinkFile<'_>],
        by_world_id: &FxHashMap<u32, u32>,
        names: &Interner,
        words: &Words,
    ) -> Self {
        let mut builder = Builder {
            files,
            by_world_id,
            names,
            words,
            entries: FxHashMap::default(),
            exported: vec![Vec::new(); files.len()],
        };
        let names_of = |file: &LinkFile<'_>| {
            file.facts
                .map_or(0, |facts| facts.exports.len() + facts.bindings.len())
        };
        builder.entries.reserve(files.iter().map(names_of).sum());
        for index in 0..files.len() {
            builder.add_own(index);
        }
        builder.spread_stars();
        let mut tables = Self {
            declared_in: declared_in(files),
            entries: builder.entries,
            exported: Vec::new(),
        };
        tables.exported = (0..)
            .zip(builder.exported)
            .map(|(file, exported)| {
                exported
                    .into_iter()
                    .map(|name| (name, tables.kind(file, name)))
                    .collect()
            })
            .collect();
        tables
    }

    /// The files whose names differ between two tables.
    pub(super) fn changed_files(old: &Self, new: &Self) -> FxHashSet<u32> {
        let differs = |here: &Self, there: &Self| -> Vec<u32> {
            let entries = here
                .entries
                .iter()
                .filter(|(key, entry)| there.entries.get(key) != Some(*entry));
            entries.map(|(key, _)| key.0).collect()
        };
        let exported = (0..)
            .zip(old.exported.iter().zip(&new.exported))
            .filter(|(_, (old, new))| old != new);
        let mut changed: FxHashSet<u32> = exported.map(|(file, _)| file).collect();
        changed.extend(differs(old, new));
        changed.extend(differs(new, old));
        changed
    }

    /// Which file has names that come from which other.
    pub(super) fn passed_on(&self) -> impl Iterator<Item = (u32, u32)> {
        self.entries.iter().filter_map(|(key, entry)| match entry {
            Entry::From(origin, _) => Some((key.0, *origin)),
            _ => None,
        })
    }

    /// Whether a file has a name, exported or not.
    pub(super) fn has(&self, file: u32, name: u32) -> bool {
        self.entries.contains_key(&(file, name))
    }

    /// The files that declare a name, in path order. Only of languages that have packages of files.
    pub(super) fn declared_in(&self, name: u32) -> &[u32] {
        self.declared_in.get(&name).map_or(&[], Vec::as_slice)
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The exported names of a file, with kinds.
    pub(super) fn of(&self, file: u32) -> &[(u32, SymbolKind)] {
        &self.exported[file as usize]
    }

    /// Where a name of a file is defined, if elsewhere or here.
    pub(super) fn definition(&self, file: u32, name: u32) -> Option<(u32, u32)> {
        let mut at = (file, name);
        for _ in 0..CHAIN_LIMIT {
            match self.entries.get(&at)? {
                Entry::From(file, Some(name)) => at = (*file, *name),
                _ => return Some(at),
            }
        }
        None
    }

    /// The file that a name of a file stands for as a whole (`export * as name from`, `from . import name`).
    pub(super) fn module(&self, file: u32, name: u32) -> Option<u32> {
        let (file, name) = self.definition(file, name)?;
        match self.entries.get(&(file, name)) {
            Some(Entry::From(module, None)) => Some(*module),
            _ => None,
        }
    }

    fn kind(&self, file: u32, name: u32) -> SymbolKind {
        match self
            .definition(file, name)
            .and_then(|at| self.entries.get(&at))
        {
            Some(Entry::Declared(kind)) => *kind,
            _ => SymbolKind::Const,
        }
    }

    /// Whether `from package import name` in `file` means the submodule: it does unless the package itself defines
    /// the name as something else.
    pub(super) fn means_submodule(
        &self,
        file: u32,
        package: Option<u32>,
        name: u32,
        submodule: u32,
    ) -> bool {
        let Some(package) = package.filter(|package| *package != file) else {
            return true;
        };
        match self.entries.get(&(package, name)) {
            None => true,
            Some(Entry::From(target, None)) => *target == submodule,
            Some(_) => false,
        }
    }
}

fn declared_in(files: &[LinkFile<'_>]) -> FxHashMap<u32, Vec<u32>> {
    let mut declared: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (index, file) in (0..).zip(files) {
        let has_packages = Language::of_path(file.path).is_some_and(Language::has_packages);
        let facts = file.facts.filter(|_| has_packages);
        let own = facts.map(|facts| facts.exports.iter().chain(&facts.bindings));
        for export in own.into_iter().flatten() {
            let in_files = declared.entry(export.name).or_default();
            if in_files.last() != Some(&index) {
                in_files.push(index);
            }
        }
    }
    declared
}

/// Everything about a file that the exports of the folder depend on.
#[derive(PartialEq)]
pub(super) struct Signature<'f> {
    names: Vec<(u32, LinkOrigin, Option<&'f ResolvedImport>)>,
    bindings_from: usize,
    stars: Vec<Option<u32>>,
    dunder_all: Option<&'f Vec<u32>>,
}

/// See [`Signature`].
pub(super) fn signature<'f>(file: &LinkFile<'f>) -> Option<Signature<'f>> {
    let facts = file.facts?;
    let resolved = |import: u32| {
        file.resolution
            .and_then(|resolution| resolution.imports.get(import as usize))
    };
    let names = facts
        .exports
        .iter()
        .chain(&facts.bindings)
        .map(|export| match export.origin {
            LinkOrigin::Declared(_) => (export.name, export.origin, None),
            // Where it stands in its import decides which submodule it may mean.
            LinkOrigin::Imported { import, name } => {
                let names = &facts.imports[import as usize].names;
                let position = names
                    .iter()
                    .position(|taken| taken.imported == name)
                    .unwrap_or(0);
                let place = LinkOrigin::Imported {
                    import: u32::try_from(position).unwrap_or(u32::MAX),
                    name,
                };
                (export.name, place, resolved(import))
            }
        });
    Some(Signature {
        names: names.collect(),
        bindings_from: facts.exports.len(),
        stars: facts
            .star_exports
            .iter()
            .map(|star| resolved(*star).and_then(|resolved| resolved.target))
            .collect(),
        dunder_all: facts.dunder_all.as_ref(),
    })
}

struct Builder<'f> {
    files: &'f [LinkFile<'f>],
    by_world_id: &'f FxHashMap<u32, u32>,
    names: &'f Interner,
    words: &'f Words,
    entries: FxHashMap<(u32, u32), Entry>,
    exported: Vec<Vec<u32>>,
}

impl Builder<'_> {
    fn add_own(&mut self, index: usize) {
        let Some(facts) = self.files[index].facts else {
            return;
        };
        let file = u32::try_from(index).unwrap_or(u32::MAX);
        for export in &facts.exports {
            self.add_export(file, export.name, self.entry(index, export.origin));
        }
        let path = self.files[index].path;
        let is_package = file_name(path).starts_with("__init__.") && extension(path) != "pyi";
        for binding in &facts.bindings {
            let entry = self.entry(index, binding.origin);
            // The file around a package is its public face: what it takes from inside the folder it passes on.
            if is_package && matches!(entry, Entry::From(..)) {
                self.add_export(file, binding.name, entry);
            } else {
                self.entries.entry((file, binding.name)).or_insert(entry);
            }
        }
    }

    fn add_export(&mut self, file: u32, name: u32, entry: Entry) {
        match self.entries.entry((file, name)) {
            std::collections::hash_map::Entry::Vacant(slot) => {
                slot.insert(entry);
                self.exported[file as usize].push(name);
            }
            std::collections::hash_map::Entry::Occupied(mut slot) => {
                if let (Entry::Declared(known), Entry::Declared(kind)) = (*slot.get(), entry)
                    && kind.strength() > known.strength()
                {
                    slot.insert(entry);
                }
            }
        }
    }

    fn entry(&self, index: usize, origin: LinkOrigin) -> Entry {
        let (import, name) = match origin {
            LinkOrigin::Declared(kind) => return Entry::Declared(kind),
            LinkOrigin::Imported { import, name } => (import as usize, name),
        };
        let local = |id: u32| self.by_world_id.get(&id).copied();
        let Some(resolved) = self.files[index]
            .resolution
            .and_then(|resolution| resolution.imports.get(import))
        else {
            return Entry::Foreign;
        };
        let position = self.files[index]
            .facts
            .and_then(|facts| facts.imports.get(import))
            .and_then(|import| import.names.iter().position(|taken| taken.imported == name));
        let submodule = position.and_then(|position| {
            resolved
                .submodules
                .iter()
                .find(|(at, _)| *at as usize == position)
                .and_then(|(_, id)| local(*id))
        });
        if let Some(submodule) = submodule {
            return Entry::From(submodule, None);
        }
        match resolved.target.and_then(local) {
            Some(target) if target as usize == index => Entry::Foreign,
            Some(target) => Entry::From(target, (name != self.words.star).then_some(name)),
            None => Entry::Foreign,
        }
    }

    /// Spreads names along `export *` until nothing changes; cycles end because names are only ever added.
    fn spread_stars(&mut self) {
        let mut stars: Vec<(u32, u32)> = Vec::new();
        for (index, file) in (0..).zip(self.files) {
            let (Some(facts), Some(resolution)) = (file.facts, file.resolution) else {
                continue;
            };
            for star in &facts.star_exports {
                let target = resolution
                    .imports
                    .get(*star as usize)
                    .and_then(|resolved| resolved.target);
                if let Some(target) = target.and_then(|id| self.by_world_id.get(&id)) {
                    stars.push((index, *target));
                }
            }
        }
        loop {
            let mut changed = false;
            for (file, target) in &stars {
                for name in self.star_names(*target) {
                    if self.entries.contains_key(&(*file, name)) {
                        continue;
                    }
                    changed = true;
                    self.entries
                        .insert((*file, name), Entry::From(*target, Some(name)));
                    if self.passes_stars_on(*file) {
                        self.exported[*file as usize].push(name);
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// In JavaScript a star is always an export; in Python only a package's own file passes names on.
    fn passes_stars_on(&self, file: u32) -> bool {
        let path = self.files[file as usize].path;
        Language::of_path(path) != Some(Language::Python)
            || file_name(path).starts_with("__init__.")
    }

    /// The names that a star takes: all but `default`; in Python `__all__`, or else the public ones.
    fn star_names(&self, target: u32) -> Vec<u32> {
        let facts = self.files[target as usize].facts;
        if let Some(all) = facts.and_then(|facts| facts.dunder_all.as_ref()) {
            return all.clone();
        }
        let is_python =
            Language::of_path(self.files[target as usize].path) == Some(Language::Python);
        let exported = self.exported[target as usize].iter().copied();
        exported
            .filter(|name| {
                *name != self.words.default
                    && !(is_python && self.names.text(*name).starts_with('_'))
            })
            .collect()
    }
}

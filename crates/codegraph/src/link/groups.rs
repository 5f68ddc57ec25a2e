//! Which file each name of an import comes from: of a module, of its submodules, of the files of a package, or, where
//! no statement says, of whatever open import has it.

use super::{LinkFacts, LinkImport, LinkName, Links};
use crate::facts::{ImportFlags, Usage};
use crate::graph::{Node, NodeIndex};
use crate::resolve::{FileResolution, Package, ResolvedImport};

/// The names that an import takes from one file.
pub(super) struct Group {
    /// The index of the file; `None` where it is not in the folder.
    pub(super) target: Option<u32>,
    pub(super) names: Vec<LinkName>,
    /// 1-based line of the reason.
    pub(super) line: u32,
}

/// A reference that an open import brings.
struct Brought {
    name: LinkName,
    target: u32,
    line: u32,
}

impl Links {
    /// The names of every import of a file by the file that each comes from.
    pub(super) fn groups(
        &self,
        file: u32,
        facts: &LinkFacts,
        resolution: &FileResolution,
        nodes: &[Node],
    ) -> Vec<Vec<Group>> {
        let mut brought = self.bring(file, facts, resolution, nodes);
        let imports = facts.imports.iter().zip(&resolution.imports);
        imports
            .enumerate()
            .map(|(index, (import, resolved))| {
                let mut groups = match &resolved.package {
                    Some(package) => self.groups_of_package(file, import, package, nodes),
                    None => self.groups_of_module(file, import, resolved),
                };
                let brought = brought.get_mut(index).map(std::mem::take);
                let brought = brought.unwrap_or_default();
                if !brought.is_empty() {
                    groups.retain(|group| group.names.iter().any(|name| !self.is_open(name)));
                }
                for Brought { name, target, line } in brought {
                    let line = if import.flags.contains(ImportFlags::IMPLICIT) {
                        line
                    } else {
                        import.line
                    };
                    add(&mut groups, Some(target), name, line);
                }
                if import.flags.contains(ImportFlags::IMPLICIT) {
                    groups.retain(|group| group.target.is_some_and(|target| target != file));
                }
                groups
            })
            .collect()
    }

    /// A name without a local one takes everything.
    fn is_open(&self, name: &LinkName) -> bool {
        name.imported == self.words.star && name.local == self.words.empty
    }

    fn local(&self, world_id: u32) -> Option<u32> {
        self.by_world_id.get(&world_id).copied()
    }

    /// The names of an import by the file that each comes from. An import without names is one group.
    fn groups_of_module(
        &self,
        file: u32,
        import: &LinkImport,
        resolved: &ResolvedImport,
    ) -> Vec<Group> {
        let module = resolved.target.and_then(|id| self.local(id));
        let mut groups: Vec<Group> = Vec::new();
        for (index, name) in (0..).zip(&import.names) {
            let submodule = resolved
                .submodules
                .iter()
                .find(|(at, _)| *at == index)
                .and_then(|(_, id)| self.local(*id));
            let mut name = *name;
            let target = match submodule {
                Some(submodule)
                    if self
                        .tables
                        .means_submodule(file, module, name.imported, submodule) =>
                {
                    name.is_module = true;
                    Some(submodule)
                }
                _ if name.type_only => resolved.types.and_then(|id| self.local(id)).or(module),
                _ => module,
            };
            add(&mut groups, target, name, import.line);
        }
        if groups.is_empty() {
            groups.push(Group {
                target: module,
                names: Vec::new(),
                line: import.line,
            });
        }
        groups
    }

    /// As [`Links::groups_of_module`], where any of several files may declare a name.
    fn groups_of_package(
        &self,
        file: u32,
        import: &LinkImport,
        package: &Package,
        nodes: &[Node],
    ) -> Vec<Group> {
        // A name that no file gives is put down to the first in path order.
        let files = package.files.iter().filter(|_| package.is_whole);
        let whole = files.filter_map(|id| self.local(*id)).min();
        let mut groups = Vec::new();
        for name in &import.names {
            let declaring = self.declaring(file, name.imported, package, nodes);
            if declaring.is_empty() {
                add(&mut groups, whole, *name, import.line);
            }
            for target in declaring {
                add(&mut groups, Some(target), *name, import.line);
            }
        }
        if groups.is_empty() {
            groups.push(Group {
                target: whole,
                names: Vec::new(),
                line: import.line,
            });
        }
        groups
    }

    /// The files of a package, other than the asking one, that declare a name. Where several directories do, only the
    /// one that shares most with the asking file counts: the same name stands in another module or a test.
    fn declaring(&self, file: u32, name: u32, package: &Package, nodes: &[Node]) -> Vec<u32> {
        let mut declaring: Vec<u32> = self
            .tables
            .declared_in(name)
            .iter()
            .copied()
            .filter(|other| {
                *other != file
                    && package
                        .files
                        .binary_search(&self.world_ids[*other as usize])
                        .is_ok()
            })
            .collect();
        if declaring.len() > 1 {
            let own = self.directories_of(file, nodes);
            let shared = |other: u32| {
                let other = self.directories_of(other, nodes);
                own.iter()
                    .zip(other)
                    .take_while(|(left, right)| *left == right)
                    .count()
            };
            let directory = |file: u32| nodes[self.file_nodes[file as usize] as usize].parent;
            // The first of equals, so that the choice is the same whatever else is asked.
            let nearest = declaring
                .iter()
                .copied()
                .rev()
                .max_by_key(|other| shared(*other));
            let nearest = nearest.and_then(directory);
            declaring.retain(|other| directory(*other) == nearest);
        }
        declaring
    }

    /// The directories around a file, from the root.
    fn directories_of(&self, file: u32, nodes: &[Node]) -> Vec<NodeIndex> {
        let mut around = Vec::new();
        let mut at = nodes[self.file_nodes[file as usize] as usize].parent;
        while let Some(directory) = at {
            around.push(directory);
            at = nodes[directory as usize].parent;
        }
        around.reverse();
        around
    }

    /// Finds the names that a file uses without saying where from, in its open imports; the first that has one brings
    /// it. By import.
    fn bring(
        &self,
        file: u32,
        facts: &LinkFacts,
        resolution: &FileResolution,
        nodes: &[Node],
    ) -> Vec<Vec<Brought>> {
        if facts.references.is_empty() {
            return Vec::new();
        }
        let open: Vec<(usize, &ResolvedImport)> = facts
            .imports
            .iter()
            .zip(&resolution.imports)
            .enumerate()
            .filter(|(_, (import, _))| import.names.iter().any(|name| self.is_open(name)))
            .map(|(index, (_, resolved))| (index, resolved))
            .collect();
        let mut brought: Vec<Vec<Brought>> = Vec::new();
        brought.resize_with(facts.imports.len(), Vec::new);
        for (name, line) in &facts.references {
            let found = open.iter().find_map(|(index, resolved)| {
                let targets = match &resolved.package {
                    Some(package) => self.declaring(file, *name, package, nodes),
                    None => {
                        let target = resolved.target.and_then(|id| self.local(id));
                        let has_it =
                            |target: &u32| *target != file && self.tables.has(*target, *name);
                        target.into_iter().filter(has_it).collect()
                    }
                };
                (!targets.is_empty()).then_some((*index, targets))
            });
            let Some((index, targets)) = found else {
                continue;
            };
            brought[index].extend(targets.into_iter().map(|target| Brought {
                name: LinkName {
                    imported: *name,
                    local: *name,
                    type_only: false,
                    usage: Usage::Used,
                    members: None,
                    is_module: false,
                },
                target,
                line: *line,
            }));
        }
        brought
    }
}

fn add(groups: &mut Vec<Group>, target: Option<u32>, name: LinkName, line: u32) {
    match groups.iter_mut().find(|group| group.target == target) {
        Some(group) => group.names.push(name),
        None => groups.push(Group {
            target,
            names: vec![name],
            line,
        }),
    }
}

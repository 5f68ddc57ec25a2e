//! Packages and namespaces that files say they belong to (Java, C#, PHP): a name is looked for in the files of its
//! namespace, wherever they lie.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Classification, Package, ResolvedImport, Rule};
use crate::facts::{FileFacts, Import, ImportFlags};
use crate::language::{Language, parent};
use crate::world::{Prober, join};

/// The files of every namespace of every language, sorted by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Namespaces {
    files: BTreeMap<Language, BTreeMap<String, Arc<[u32]>>>,
}

impl Namespaces {
    /// Whether the namespaces of a language say where its names are.
    pub(crate) fn count_for(language: Language) -> bool {
        matches!(language, Language::Java | Language::CSharp | Language::Php)
    }

    /// Collects what files say; `files` are their languages, ids and facts.
    pub(crate) fn collect<'f>(files: impl Iterator<Item = (Language, u32, &'f FileFacts)>) -> Self {
        let mut collected: BTreeMap<Language, BTreeMap<String, Vec<u32>>> = BTreeMap::new();
        for (language, id, facts) in files {
            let of_language = collected.entry(language).or_default();
            for namespace in &facts.namespaces {
                of_language.entry(namespace.clone()).or_default().push(id);
            }
        }
        let shared = |mut ids: Vec<u32>| {
            ids.sort_unstable();
            Arc::from(ids)
        };
        let share = |named: BTreeMap<String, Vec<u32>>| {
            named
                .into_iter()
                .map(|(name, ids)| (name, shared(ids)))
                .collect()
        };
        Self {
            files: collected
                .into_iter()
                .map(|(language, named)| (language, share(named)))
                .collect(),
        }
    }

    /// Whether another collection says the same for a language.
    pub(super) fn stand_for(&self, other: &Self, language: Language) -> bool {
        self.files.get(&language) == other.files.get(&language)
    }

    fn of(&self, language: Language, name: &str) -> Option<&Arc<[u32]>> {
        self.files.get(&language)?.get(name)
    }

    /// Whether a namespace or one below it is here.
    fn is_here(&self, language: Language, name: &str, separator: char) -> bool {
        let Some(named) = self.files.get(&language) else {
            return false;
        };
        let below = format!("{name}{separator}");
        named.contains_key(name)
            || named
                .range(below.clone()..)
                .next()
                .is_some_and(|(next, _)| next.starts_with(&below))
    }

    /// Resolves one import of a file of `language` that says it is in `own` namespaces.
    pub(super) fn resolve(
        &self,
        prober: &mut Prober<'_>,
        language: Language,
        from: &str,
        own: &[String],
        import: &Import,
    ) -> ResolvedImport {
        if import.flags.contains(ImportFlags::REQUIRE) {
            return included(prober, from, &import.module);
        }
        let is_implicit = import.flags.contains(ImportFlags::IMPLICIT);
        let rule = if is_implicit && import.names.iter().any(|name| name.imported == "*") {
            Rule::SamePackage
        } else {
            Rule::Namespace
        };
        let separator = if language == Language::Php { '\\' } else { '.' };
        let mut places = vec![import.module.clone()];
        // In C# a name may begin in any namespace around.
        if language == Language::CSharp {
            for namespace in own {
                let mut around = namespace.as_str();
                while !around.is_empty() {
                    places.push(format!("{around}.{}", import.module));
                    around = around.rsplit_once('.').map_or("", |(outer, _)| outer);
                }
            }
        }
        for place in &places {
            if let Some(files) = self.of(language, place) {
                return ResolvedImport::in_package(
                    rule,
                    Package {
                        files: Arc::clone(files),
                        is_whole: false,
                    },
                );
            }
        }
        let full = |place: &String| match import.names.first() {
            Some(name) if name.imported != "*" => format!("{place}{separator}{}", name.imported),
            _ => place.clone(),
        };
        if places
            .iter()
            .any(|place| self.is_here(language, &full(place), separator))
        {
            return ResolvedImport::without_file(Classification::Local, Rule::Namespace);
        }
        let is_stdlib = match language {
            Language::Java => is_java(&import.module),
            Language::CSharp => {
                let top = import.module.split('.').next().unwrap_or_default();
                let name = import.names.first().map_or("", |name| &name.imported);
                top == "System" || import.module.is_empty() && name == "System"
            }
            _ => import.module.is_empty(),
        };
        if is_stdlib {
            ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin)
        } else {
            ResolvedImport::without_file(Classification::ThirdParty, Rule::Package)
        }
    }
}

/// A path that PHP includes: beside the file, or below a directory around it where include paths begin.
fn included(prober: &mut Prober<'_>, from: &str, path: &str) -> ResolvedImport {
    let mut directory = parent(from);
    let is_relative = path.starts_with('.');
    loop {
        let file = join(directory, path).and_then(|path| prober.file(&path));
        if let Some(file) = file {
            let rule = if directory == parent(from) {
                Rule::Relative
            } else {
                Rule::IncludePath
            };
            return ResolvedImport::found(rule, file);
        }
        if is_relative || directory.is_empty() {
            return ResolvedImport::missing();
        }
        directory = parent(directory);
    }
}

fn is_java(package: &str) -> bool {
    let top = package.split('.').next().unwrap_or_default();
    matches!(top, "java" | "javax" | "jdk" | "sun") || package.starts_with("com.sun.")
}

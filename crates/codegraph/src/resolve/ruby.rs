//! What Ruby requires: beside the file, on a load path of a gem or application, or by the name of a constant where files
//! are named after the constants they define (Zeitwerk's convention, which Rails follows).

use std::collections::BTreeMap;

use super::{Classification, ResolvedImport, Rule};
use crate::facts::{FileFacts, Import, ImportFlags};
use crate::language::{extension, parent};
use crate::stdlib;
use crate::world::{Prober, World, ancestors, join};

/// Directories, in any directory around a file, that are on the load path.
const LOAD_PATHS: [&str; 5] = ["lib", "", "test", "spec", "app"];

/// The files that load by the name of a constant: by their path below the directory where names begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Autoloads {
    by_name: BTreeMap<String, Vec<(String, u32)>>,
    /// Gems of the folder by name, with their directory.
    gems: BTreeMap<String, String>,
}

impl Autoloads {
    pub(super) fn read(world: &World) -> Self {
        let mut autoloads = Self::default();
        for path in world.files() {
            match extension(path) {
                "rb" => {
                    if let (Some(name), Some(id)) = (name_of(path), world.file_id(path)) {
                        autoloads
                            .by_name
                            .entry(name.to_owned())
                            .or_default()
                            .push((path.to_owned(), id));
                    }
                }
                "gemspec" => {
                    let name = crate::language::file_name(path).trim_end_matches(".gemspec");
                    autoloads
                        .gems
                        .insert(name.to_owned(), parent(path).to_owned());
                }
                _ => {}
            }
        }
        autoloads
            .by_name
            .values_mut()
            .for_each(|files| files.sort());
        autoloads
    }

    /// Resolves one import of a file.
    pub(super) fn resolve(
        &self,
        prober: &mut Prober<'_>,
        from: &str,
        facts: &FileFacts,
        import: &Import,
    ) -> ResolvedImport {
        let path = import.module.as_str();
        if import.flags.contains(ImportFlags::IMPLICIT) {
            return self.autoload(from, &facts.namespaces, path);
        }
        if path.starts_with("./") || path.starts_with("../") {
            return join(parent(from), path)
                .and_then(|path| file(prober, &path))
                .map_or_else(ResolvedImport::missing, |file| {
                    ResolvedImport::found(Rule::Relative, file)
                });
        }
        for around in ancestors(from).chain(std::iter::once("")) {
            for place in LOAD_PATHS {
                let path = join(around, place).and_then(|base| join(&base, path));
                if let Some(file) = path.and_then(|path| file(prober, &path)) {
                    return ResolvedImport::found(Rule::LoadPath, file);
                }
            }
        }
        for directory in self.gems.values() {
            let path = join(directory, "lib").and_then(|base| join(&base, path));
            if let Some(file) = path.and_then(|path| file(prober, &path)) {
                return ResolvedImport::found(Rule::Workspace, file);
            }
        }
        if stdlib::is_ruby(path) {
            ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin)
        } else {
            ResolvedImport::without_file(Classification::ThirdParty, Rule::Package)
        }
    }

    /// The file that a constant loads, looked for in the modules that the text is nested in, the innermost first.
    fn autoload(&self, from: &str, nestings: &[String], constant: &str) -> ResolvedImport {
        let mut nestings: Vec<&str> = nestings.iter().map(String::as_str).collect();
        nestings.sort_by_key(|nesting| std::cmp::Reverse(nesting.len()));
        let full = nestings
            .iter()
            .map(|nesting| format!("{nesting}::{constant}"))
            .chain(std::iter::once(constant.to_owned()));
        for name in full {
            let files = self.by_name.get(&underscored(&name));
            let nearest = files.into_iter().flatten().max_by_key(|(path, _)| {
                (
                    super::includes::shared_directories(from, path),
                    std::cmp::Reverse(path.as_str()),
                )
            });
            if let Some((_, id)) = nearest {
                return ResolvedImport::found(Rule::Autoload, *id);
            }
        }
        ResolvedImport::missing()
    }
}

fn file(prober: &mut Prober<'_>, path: &str) -> Option<u32> {
    if path.ends_with(".rb") {
        return prober.file(path);
    }
    prober.file(&format!("{path}.rb"))
}

/// The name that a file loads by: its path below `app/*/`, `app/*/concerns/` or `lib/`, without the extension.
fn name_of(path: &str) -> Option<&str> {
    let stem = path.strip_suffix(".rb")?;
    let after = |place: &str| {
        let at = if stem.starts_with(place) {
            Some(0)
        } else {
            stem.find(&format!("/{place}")).map(|at| at + 1)
        };
        at.map(|at| &stem[at + place.len()..])
    };
    if let Some(below) = after("app/") {
        let (_, name) = below.split_once('/')?;
        return Some(name.strip_prefix("concerns/").unwrap_or(name));
    }
    after("lib/")
}

/// `Admin::HTTPClient` as `admin/http_client`.
fn underscored(constant: &str) -> String {
    let parts = constant.split("::").map(|part| {
        let letters: Vec<char> = part.chars().collect();
        let mut name = String::with_capacity(part.len() + 4);
        for (index, letter) in letters.iter().enumerate() {
            let before = index.checked_sub(1).and_then(|at| letters.get(at));
            let after = letters.get(index + 1);
            let begins_word = letter.is_uppercase()
                && before.is_some_and(|before| {
                    !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase())
                });
            if begins_word {
                name.push('_');
            }
            name.extend(letter.to_lowercase());
        }
        name
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_files_are_named_after_each_other() {
        assert_eq!(underscored("Admin::HTTPClient"), "admin/http_client");
        assert_eq!(underscored("UserMailer"), "user_mailer");
        assert_eq!(name_of("app/models/concerns/taggable.rb"), Some("taggable"));
        assert_eq!(name_of("gems/x/lib/x/y.rb"), Some("x/y"));
        assert_eq!(name_of("config/routes.rb"), None);
    }
}

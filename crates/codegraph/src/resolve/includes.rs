//! What `#include` names, without a build: a file beside, one below a directory where includes begin, or the only file
//! of the folder whose path ends so.

use std::collections::BTreeMap;

use super::{Classification, ResolvedImport, Rule};
use crate::facts::Import;
use crate::language::{extension, file_name, parent};
use crate::stdlib;
use crate::world::{Prober, World, join};

/// Directories, in any directory around a file, that compilers are commonly told to look in.
const PLACES: [&str; 4] = ["", "include", "src", "inc"];

/// The files that can be included, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Includes {
    by_name: BTreeMap<String, Vec<String>>,
}

impl Includes {
    pub(super) fn read(world: &World) -> Self {
        let mut by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in world.files().filter(|path| is_includable(path)) {
            by_name
                .entry(file_name(path).to_owned())
                .or_default()
                .push(path.to_owned());
        }
        by_name.values_mut().for_each(|paths| paths.sort_unstable());
        Self { by_name }
    }

    /// Resolves one include. A module in angle brackets is not looked for beside the file.
    pub(super) fn resolve(
        &self,
        prober: &mut Prober<'_>,
        from: &str,
        import: &Import,
    ) -> ResolvedImport {
        let written = import.module.as_str();
        let in_brackets = written
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'));
        let path = in_brackets.unwrap_or(written).trim();
        if in_brackets.is_none() {
            let beside = join(parent(from), path).and_then(|path| prober.file(&path));
            if let Some(file) = beside {
                return ResolvedImport::found(Rule::Relative, file);
            }
        }
        let is_standard = stdlib::is_c_header(path);
        if in_brackets.is_some() && is_standard {
            return ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin);
        }
        if let Some(found) = below_places(prober, from, path) {
            return found;
        }
        if let Some(found) = self.by_end(prober, from, path) {
            return found;
        }
        if is_standard {
            ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin)
        } else if in_brackets.is_some() {
            ResolvedImport::without_file(Classification::ThirdParty, Rule::Package)
        } else {
            ResolvedImport::missing()
        }
    }

    /// The file whose path ends as the include says; of several, the one that shares most of its directories with the
    /// includer, if there is one.
    fn by_end(&self, prober: &mut Prober<'_>, from: &str, path: &str) -> Option<ResolvedImport> {
        let name = file_name(path);
        prober.ask_name(name);
        let end = format!("/{}", path.trim_start_matches("./"));
        if path.contains("..") {
            return None;
        }
        let fitting = self
            .by_name
            .get(name)?
            .iter()
            .filter(|known| known.ends_with(&end) || **known == end[1..]);
        let mut ranked: Vec<(usize, &String)> = fitting
            .map(|known| (shared_directories(from, known), known))
            .collect();
        ranked.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
        match ranked.as_slice() {
            [(best, known), rest @ ..] if rest.first().is_none_or(|(next, _)| next < best) => {
                let file = prober.file(known)?;
                Some(ResolvedImport::found(Rule::UniqueEnd, file))
            }
            _ => None,
        }
    }
}

fn is_includable(path: &str) -> bool {
    matches!(
        extension(path),
        "h" | "hh"
            | "hpp"
            | "hxx"
            | "h++"
            | "H"
            | "inc"
            | "inl"
            | "ipp"
            | "tpp"
            | "def"
            | "cuh"
            | "c"
            | "cc"
            | "cpp"
            | "cxx"
            | "cu"
    )
}

fn below_places(prober: &mut Prober<'_>, from: &str, path: &str) -> Option<ResolvedImport> {
    let mut directory = parent(from);
    loop {
        for place in PLACES {
            let file = join(directory, place)
                .and_then(|base| join(&base, path))
                .and_then(|path| prober.file(&path));
            if let Some(file) = file {
                return Some(ResolvedImport::found(Rule::IncludePath, file));
            }
        }
        if directory.is_empty() {
            return None;
        }
        directory = parent(directory);
    }
}

/// How many leading directories two paths share.
pub(crate) fn shared_directories(left: &str, right: &str) -> usize {
    let (left, right) = (parent(left).split('/'), parent(right).split('/'));
    left.zip(right)
        .take_while(|(left, right)| left == right && !left.is_empty())
        .count()
}

//! Python module names, resolved against source roots: packages, stubs, namespace packages.

use super::python_roots::{FileRoots, SourceRoots};
use super::{Classification, ResolvedImport, Rule};
use crate::facts::Import;
use crate::language::parent;
use crate::stdlib;
use crate::world::{Prober, join};

/// A module found: its file, or a directory without `__init__`.
enum Module {
    /// The file, and the stub beside it if that is another.
    File(u32, Option<u32>),
    Namespace,
}

/// Resolves one import of a file.
pub(super) fn resolve(
    prober: &mut Prober<'_>,
    roots: &SourceRoots,
    file_roots: &FileRoots,
    from: &str,
    import: &Import,
) -> ResolvedImport {
    let level = import
        .module
        .bytes()
        .take_while(|byte| *byte == b'.')
        .count();
    let dotted = &import.module[level..];
    if level > 0 {
        let up = "../".repeat(level - 1);
        let Some(base) = join(parent(from), &up) else {
            return ResolvedImport::missing();
        };
        return resolve_below(prober, &base, dotted, Rule::Relative, import)
            .unwrap_or_else(ResolvedImport::missing);
    }
    resolve_absolute(prober, roots, file_roots, from, import)
}

fn resolve_absolute(
    prober: &mut Prober<'_>,
    roots: &SourceRoots,
    file_roots: &FileRoots,
    from: &str,
    import: &Import,
) -> ResolvedImport {
    let dotted = &import.module;
    let is_stdlib = stdlib::is_python(dotted);
    let mut is_local = false;
    let mut namespace = None;
    for (index, root) in file_roots.ordered.iter().enumerate() {
        if is_stdlib && index >= file_roots.enclosing {
            break;
        }
        if let Some(found) = resolve_below(prober, root, dotted, Rule::SourceRoot, import) {
            if found.rule == Rule::SourceRoot {
                return found;
            }
            namespace.get_or_insert(found);
        }
        is_local |= !is_stdlib && has_top_package(prober, root, dotted);
    }
    if let Some(found) = namespace.filter(|_| !is_stdlib) {
        return found;
    }
    // A script runs with its own directory on the path; a module of a package does not.
    if !is_stdlib
        && !roots.is_package(parent(from))
        && let Some(found) =
            resolve_below(prober, parent(from), dotted, Rule::ScriptDirectory, import)
        && found.rule == Rule::ScriptDirectory
    {
        return found;
    }
    if is_stdlib {
        ResolvedImport::without_file(Classification::Stdlib, Rule::Builtin)
    } else if is_local {
        ResolvedImport::missing()
    } else {
        ResolvedImport::without_file(Classification::ThirdParty, Rule::Package)
    }
}

/// Whether the first component of a dotted name is a regular package or module here.
fn has_top_package(prober: &mut Prober<'_>, root: &str, dotted: &str) -> bool {
    let top = dotted.split('.').next().unwrap_or(dotted);
    join(root, top).is_some_and(|path| matches!(module(prober, &path), Some(Module::File(..))))
}

/// Resolves a dotted name below a directory, with the submodules that its names may mean.
fn resolve_below(
    prober: &mut Prober<'_>,
    base: &str,
    dotted: &str,
    rule: Rule,
    import: &Import,
) -> Option<ResolvedImport> {
    let path = join(base, &dotted.replace('.', "/"))?;
    let found = module(prober, &path)?;
    let mut resolved = match found {
        Module::File(file, stub) => {
            let mut resolved = ResolvedImport::found(rule, file);
            resolved.stubs.extend(stub.map(|stub| (file, stub)));
            resolved
        }
        Module::Namespace => {
            ResolvedImport::without_file(Classification::Local, Rule::NamespacePackage)
        }
    };
    if import.whole_module {
        // A whole namespace names no file, and any directory would do: it is no evidence of a local package.
        return (resolved.target.is_some()).then_some(resolved);
    }
    for (index, name) in (0..).zip(&import.names) {
        if name.imported == "*" {
            continue;
        }
        let submodule = join(&path, &name.imported).and_then(|path| module(prober, &path));
        if let Some(Module::File(file, stub)) = submodule {
            resolved.submodules.push((index, file));
            resolved.stubs.extend(stub.map(|stub| (file, stub)));
        }
    }
    let is_evidence =
        resolved.target.is_some() || !resolved.submodules.is_empty() || rule == Rule::Relative;
    is_evidence.then_some(resolved)
}

/// A path as a module: a package, a file, a namespace directory. Sources win over the stubs beside them.
fn module(prober: &mut Prober<'_>, path: &str) -> Option<Module> {
    const EXTENSIONS: [&str; 3] = ["py", "pyi", "pyx"];
    let package = if path.is_empty() {
        "__init__".to_owned()
    } else {
        format!("{path}/__init__")
    };
    let stems = [
        Some(package.as_str()),
        Some(path).filter(|path| !path.is_empty()),
    ];
    for stem in stems.into_iter().flatten() {
        let mut files = EXTENSIONS
            .iter()
            .map(|extension| prober.file(&format!("{stem}.{extension}")));
        let [source, stub, cython] = [(); 3].map(|()| files.next().flatten());
        if let Some(file) = source.or(stub).or(cython) {
            return Some(Module::File(file, stub.filter(|stub| *stub != file)));
        }
    }
    prober.is_directory(path).then_some(Module::Namespace)
}

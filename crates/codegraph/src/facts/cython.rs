//! Facts of Cython files: a scan of column 0, as no grammar is at hand.

use super::{Export, FileFacts, Import, ImportFlags, ImportedName, Origin, SymbolKind};

/// Reads definitions and imports that start a line.
pub(super) fn extract(text: &str) -> FileFacts {
    let mut facts = FileFacts::default();
    for (line, content) in (1..).zip(text.lines()) {
        if content.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            read_line(content, line, &mut facts);
        }
    }
    facts
}

fn read_line(content: &str, line: u32, facts: &mut FileFacts) {
    let mut words = content.split_whitespace();
    let first = words.next().unwrap_or_default();
    match first {
        "def" | "async" => export(
            facts,
            name_before_bracket(content),
            SymbolKind::Function,
            line,
        ),
        "class" => export(facts, name_before_bracket(content), SymbolKind::Class, line),
        "cdef" | "cpdef" => match words.next() {
            Some("class") => export(facts, name_before_bracket(content), SymbolKind::Class, line),
            Some("extern") => {}
            Some(_) if content.contains('(') => {
                export(
                    facts,
                    name_before_bracket(content),
                    SymbolKind::Function,
                    line,
                );
            }
            _ => {}
        },
        "import" | "cimport" => {
            for part in content[first.len()..].split(',') {
                let mut words = part.split_whitespace();
                let Some(module) = words.next() else { continue };
                let local = words
                    .nth(1)
                    .unwrap_or_else(|| module.split('.').next().unwrap_or(module));
                import(
                    facts,
                    module,
                    vec![ImportedName::used("*", local)],
                    line,
                    true,
                );
            }
        }
        "from" => {
            let module = words.next().unwrap_or_default();
            let Some((_, names)) = content.split_once("import ") else {
                return;
            };
            let names = names.split('#').next().unwrap_or_default();
            let names = names
                .split([',', '(', ')', '\\'])
                .filter_map(|part| {
                    let mut words = part.split_whitespace();
                    let name = words.next()?;
                    Some(ImportedName::used(name, words.nth(1).unwrap_or(name)))
                })
                .collect();
            import(facts, module, names, line, false);
        }
        _ => {
            let Some((name, value)) = content.split_once('=') else {
                return;
            };
            let name = name.split(':').next().unwrap_or_default().trim();
            if !value.starts_with('=') && is_identifier(name) {
                export(facts, name, SymbolKind::Const, line);
            }
        }
    }
}

fn import(
    facts: &mut FileFacts,
    module: &str,
    names: Vec<ImportedName>,
    line: u32,
    whole_module: bool,
) {
    let flags = ImportFlags::default();
    facts.imports.push(Import {
        module: module.to_owned(),
        names,
        flags,
        line,
        whole_module,
    });
}

fn export(facts: &mut FileFacts, name: &str, kind: SymbolKind, line: u32) {
    if is_identifier(name) {
        facts.exports.push(Export {
            name: name.to_owned(),
            origin: Origin::Declared(kind),
            line,
        });
    }
}

/// The last word before the first `(` or `:`.
fn name_before_bracket(content: &str) -> &str {
    let head = content.split(['(', ':']).next().unwrap_or(content);
    head.trim_end()
        .rsplit([' ', '*', '\t'])
        .next()
        .unwrap_or_default()
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_numeric())
}

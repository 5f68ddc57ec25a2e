//! A graph kept up to date change by change is, byte for byte, the graph built from nothing.

use std::collections::BTreeMap;

use codegraph::kg;
use codegraph::model::{Model, PreparedFile};
use proptest::prelude::*;

/// Paths that come, go and change: sources, barrels, stubs, packages, configuration.
const PATHS: [&str; 34] = [
    "src/index.ts",
    "src/a.ts",
    "src/b.tsx",
    "src/c.js",
    "src/c.d.ts",
    "src/deep/index.ts",
    "src/deep/a.ts",
    "src/a/index.ts",
    "tsconfig.json",
    "src/tsconfig.json",
    "package.json",
    "packages/p/package.json",
    "packages/p/src/index.ts",
    "packages/p/dist/index.js",
    "packages/q/main.ts",
    "packages/q/package.json",
    "App.vue",
    "py/__init__.py",
    "py/a.py",
    "py/a.pyi",
    "py/a/__init__.py",
    "py/b.py",
    "py/sub/__init__.py",
    "py/sub/c.py",
    "c.py",
    "src/py/__init__.py",
    "src/py/a.py",
    "pyproject.toml",
    "scripts/run.py",
    "README.md",
    "Cargo.toml",
    "crate/lib.rs",
    "crate/m.rs",
    "crate/m/n.rs",
];

const SPECIFIERS: [&str; 14] = [
    "./a",
    "./b",
    "./c.js",
    "./deep",
    "../a",
    "./index",
    "@/a",
    "src/a",
    "p",
    "p/sub",
    "fs",
    "react",
    "./App.vue",
    "#in",
];

const MODULES: [&str; 11] = [
    "a", "py", "py.a", "py.sub", "py.sub.c", ".a", ".", "..", "c", "os", ".sub",
];

fn source(path: &str, seed: u32) -> String {
    let pick = |offset: u32, from: &[&'static str]| from[((seed >> offset) as usize) % from.len()];
    match path.rsplit('.').next().unwrap_or_default() {
        "json" if path.ends_with("package.json") => match seed % 4 {
            0 => r#"{ "name": "p", "main": "dist/index.js" }"#.to_owned(),
            1 => r##"{ "name": "root", "workspaces": ["packages/*"], "imports": { "#in": "./src/a.ts" } }"##.to_owned(),
            2 => r#"{ "name": "p", "exports": { ".": "./src/index.ts", "./sub": "./main.ts" } }"#.to_owned(),
            _ => "{ broken".to_owned(),
        },
        "json" => match seed % 4 {
            0 => r#"{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }"#.to_owned(),
            1 => r#"{ "compilerOptions": { "baseUrl": ".", "jsx": "react-jsx" } }"#.to_owned(),
            2 => r#"{ "files": [], "references": [{ "path": "./src" }] }"#.to_owned(),
            _ => r#"{ "extends": "./src/tsconfig.json" }"#.to_owned(),
        },
        "py" | "pyi" => format!(
            "from {} import x, a\nimport {}\nfrom {} import *\nx = y{} = 1\n__all__ = [\"a\"]\n",
            pick(0, &MODULES),
            pick(4, &MODULES).trim_matches('.').to_owned() + "z",
            pick(8, &MODULES),
            seed % 3,
        ),
        "toml" if path == "Cargo.toml" => {
            format!("[package]\nname = \"k{}\"\n[lib]\npath = \"crate/lib.rs\"\n", seed % 2)
        }
        "toml" => format!("[tool.pytest.ini_options]\npythonpath = [\"{}\"]\n", if seed.is_multiple_of(2) { "src" } else { "py" }),
        "rs" => format!(
            "mod m; pub mod n;\npub use crate::m::n::f{};\nuse super::*;\nuse k{}::m;\npub fn f{}() {{}}\n",
            seed % 3,
            seed % 2,
            (seed >> 4) % 3
        ),
        "md" => "text".to_owned(),
        _ => {
            let script = format!(
                "import {{ x, type T }} from '{}';\nexport * from '{}';\nexport {{ x as z{} }} from '{}';\nexport const y{} = 1;\n",
                pick(0, &SPECIFIERS),
                pick(4, &SPECIFIERS),
                seed % 3,
                pick(8, &SPECIFIERS),
                seed % 5,
            );
            if path.ends_with(".vue") { format!("<script>\n{script}</script>") } else { script }
        }
    }
}

fn from_nothing(files: &BTreeMap<&str, PreparedFile>) -> String {
    let mut model = Model::new("/w");
    for file in files.values() {
        model.set(file.clone());
    }
    kg::write_canonical(model.commit())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, ..ProptestConfig::default() })]

    #[test]
    fn incremental_equals_full_after_every_step(steps in prop::collection::vec((0..PATHS.len(), any::<u32>(), 0..5_u8), 100)) {
        let mut files: BTreeMap<&str, PreparedFile> = BTreeMap::new();
        let mut model = Model::new("/w");
        for (index, seed, action) in steps {
            let path = PATHS[index];
            let put = |path: &'static str, text: String, model: &mut Model, files: &mut BTreeMap<&str, PreparedFile>| {
                let file = PreparedFile::new(path, text.as_bytes(), None);
                model.set(file.clone());
                files.insert(path, file);
            };
            match action {
                0 => {
                    files.remove(path);
                    model.remove(path);
                }
                // A rename: what was at one place is at another.
                1 if files.remove(path).is_some() => {
                    model.remove(path);
                    put(PATHS[seed as usize % PATHS.len()], source(path, seed), &mut model, &mut files);
                }
                // A branch switch: much changes before the graph is looked at again.
                2 => {
                    for offset in 0..8 {
                        let path = PATHS[(index + offset) % PATHS.len()];
                        let text = source(path, seed.rotate_left(u32::try_from(offset).unwrap_or(0)));
                        put(path, text, &mut model, &mut files);
                    }
                }
                // A blank line on top moves every import and changes no export.
                4 => put(path, "\n".repeat(1 + seed as usize % 3) + &source(path, 7), &mut model, &mut files),
                _ => put(path, source(path, seed), &mut model, &mut files),
            }
            prop_assert_eq!(kg::write_canonical(model.commit()), from_nothing(&files));
        }
    }
}

#[test]
fn a_created_file_resolves_what_was_missing_and_a_deleted_one_leaves_no_edge() {
    let mut model = Model::new("/w");
    let set = |model: &mut Model, path: &str, text: &str| {
        model.set(PreparedFile::new(path, text.as_bytes(), None));
    };
    set(&mut model, "a.ts", "import { b } from './b'; b;");
    assert!(kg::write_canonical(model.commit()).contains("|./b|local||b||"));
    set(&mut model, "b.ts", "export const b = 1;");
    assert!(kg::write_canonical(model.commit()).contains("IMPORTS_SYMBOL"));
    model.remove("b.ts");
    assert!(!kg::write_canonical(model.commit()).contains("IMPORTS"));
}

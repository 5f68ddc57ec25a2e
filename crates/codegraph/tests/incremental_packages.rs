//! As `incremental.rs`, for languages whose imports mean packages, namespaces and names that no statement brings.

use std::collections::BTreeMap;

use codegraph::kg;
use codegraph::model::{Model, PreparedFile};
use proptest::prelude::*;

const PATHS: [&str; 24] = [
    "go.mod",
    "go.work",
    "sub/go.mod",
    "main.go",
    "p/a.go",
    "p/b.go",
    "p/a_test.go",
    "sub/p/c.go",
    "java/x/A.java",
    "java/x/B.java",
    "java/y/A.java",
    "cs/A.cs",
    "cs/B.cs",
    "cs/deep/C.cs",
    "php/A.php",
    "php/B.php",
    "php/part.php",
    "inc/h.h",
    "src/h.h",
    "src/m.c",
    "src/n.cpp",
    "lib/thing.rb",
    "lib/deep/thing.rb",
    "app/models/thing.rb",
];

fn source(path: &str, seed: u32) -> String {
    let name = ["A", "B", "Thing"][seed as usize % 3];
    let other = ["A", "B", "Thing"][(seed >> 4) as usize % 3];
    let place = ["x", "y", "x.y"][(seed >> 8) as usize % 3];
    let elsewhere = ["x", "y", "x.y"][(seed >> 12) as usize % 3];
    match path.rsplit('.').next().unwrap_or_default() {
        "mod" => format!("module m{}\nreplace r => ./p\n", seed % 2),
        "work" => "use ./sub\n".to_owned(),
        "go" => format!(
            "package p\nimport \"m{}/p\"\nimport \"r\"\nfunc {name}() {{ p.{other}(); r.{name}(); {other}(); low{}() }}\nfunc low{}() {{}}\n",
            seed % 2,
            (seed >> 6) % 2,
            (seed >> 7) % 2
        ),
        "java" => format!("package {place};\nimport {elsewhere}.*;\nimport {elsewhere}.{other};\npublic class {name} {{ {other} a; Thing b; }}\n"),
        "cs" => format!("using {elsewhere};\nnamespace {place};\npublic class {name} {{ {other} a; y.Thing b; }}\n"),
        "php" => format!("<?php\nnamespace {place};\nuse {elsewhere}\\{other};\nrequire 'part.php';\nclass {name} extends Thing {{}}\n").replace("x.y", "x\\y"),
        "rb" => format!("require 'deep/thing'\nrequire_relative 'thing'\nmodule Deep\n class {name} < {other}; end\nend\n"),
        _ => format!("#include \"h.h\"\n#include <h.h>\nint {name}(void) {{ return {other}(); }}\n"),
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
    fn incremental_equals_full_after_every_step(steps in prop::collection::vec((0..PATHS.len(), any::<u32>(), 0..4_u8), 100)) {
        let mut files: BTreeMap<&str, PreparedFile> = BTreeMap::new();
        let mut model = Model::new("/w");
        for (index, seed, action) in steps {
            let path = PATHS[index];
            if action == 0 {
                files.remove(path);
                model.remove(path);
            } else {
                let file = PreparedFile::new(path, source(path, seed).as_bytes(), None);
                model.set(file.clone());
                files.insert(path, file);
            }
            prop_assert_eq!(kg::write_canonical(model.commit()), from_nothing(&files));
        }
    }
}

#[test]
fn a_file_that_joins_a_package_is_found_by_those_that_use_it() {
    let mut model = Model::new("/w");
    let set = |model: &mut Model, path: &str, text: &str| {
        model.set(PreparedFile::new(path, text.as_bytes(), None));
    };
    set(&mut model, "x/A.java", "package x; class A { B b; }");
    set(&mut model, "y/B.java", "package y; public class B {}");
    assert!(!kg::write_canonical(model.commit()).contains("IMPORTS"));
    set(&mut model, "y/B.java", "package x; public class B {}");
    let is_found = kg::write_canonical(model.commit()).contains("IMPORTS_SYMBOL");
    assert_eq!(is_found, cfg!(feature = "java"));
}

//! Sources that no person wrote: every language gives what can be read and a problem, and comes back.

use codegraph::facts::extract;

/// One path a language, with a line that it reads as a declaration.
const LANGUAGES: [(&str, &str); 12] = [
    ("a.ts", "export const one = 1;"),
    ("a.vue", "<script>export const one = 1;</script>"),
    ("a.py", "one = 1"),
    ("a.pyx", "def one(): pass"),
    ("a.rs", "pub fn one() {}"),
    ("a.go", "package a\nfunc One() {}"),
    ("a.java", "public class One {}"),
    ("a.c", "int one(void) { return 1; }"),
    ("a.hpp", "class One {};"),
    ("a.cs", "public class One {}"),
    ("a.rb", "class One; end"),
    ("a.php", "<?php\nclass One {}"),
];

#[test]
fn bytes_that_are_no_text_and_files_cut_anywhere_are_read_as_far_as_they_go() {
    for (path, source) in LANGUAGES {
        let invalid = [source.as_bytes(), b"\n\xFF\xFE\0\xC3\x28\n"].concat();
        let _ = extract(path, &invalid);
        for cut in 0..source.len() {
            let _ = extract(path, &source.as_bytes()[..cut]);
        }
        let is_component = path.ends_with(".vue");
        assert_eq!(extract(path, b"").exports.len(), usize::from(is_component));
    }
}

#[test]
fn a_declaration_survives_an_error_below_it() {
    for (path, source) in LANGUAGES {
        let broken = format!("{source}\n\n)) }} <<< §§ ((\n");
        let facts = extract(path, broken.as_bytes());
        if matches!(path, "a.pyx" | "a.vue") {
            continue;
        }
        assert!(
            facts
                .exports
                .iter()
                .any(|export| export.name.eq_ignore_ascii_case("one")),
            "{path}: {facts:?}"
        );
        assert!(
            !facts.problems.is_empty(),
            "{path} says nothing of the error"
        );
    }
}

#[test]
fn deep_and_long_sources_come_back() {
    let shapes = [
        "(".repeat(200_000),
        "a.".repeat(20_000),
        "a(".repeat(900) + &")".repeat(900),
        "x + ".repeat(10_000) + "1",
        "if x { } else ".repeat(2_000),
        "class A { ".repeat(900),
        "module A\n".repeat(1_000),
        "#if X\n".repeat(1_000),
        "}".repeat(10_000),
        "\"".repeat(2_001),
        "<?php ".repeat(1_000),
        "namespace A; ".repeat(1_000),
        "import a.b.C;\n".repeat(1_000),
    ];
    // Readers run on stacks like those of the engine.
    let run = move || {
        for (path, source) in LANGUAGES {
            for shape in &shapes {
                let _ = extract(path, format!("{source}\n{shape}").as_bytes());
            }
        }
    };
    let worker = std::thread::Builder::new().stack_size(256 * 1024 * 1024);
    worker.spawn(run).unwrap().join().unwrap();
}

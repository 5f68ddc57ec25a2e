//! Folders on disk: opened, changed, snapshotted.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use codegraph::engine::Engine;
use codegraph::filter::Filter;
use codegraph::kg;
use codegraph::live::LiveGraph;
use codegraph::watch::Debounce;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn open(root: &Path) -> Engine {
    Engine::open(root, Filter::default(), None).unwrap()
}

fn paths(engine: &Engine) -> Vec<&str> {
    engine.model().paths().collect()
}

#[test]
fn a_walk_takes_what_belongs_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in [
        "a.ts",
        ".eslintrc.js",
        ".github/w.yml",
        "node_modules/x/i.js",
        ".env",
        "dist/o.js",
        "ignored/x.ts",
        "logo.png",
    ] {
        write(root, path, "");
    }
    write(root, ".gitignore", "ignored/\n");
    write(root, "build/__init__.py", "");
    write(root, "env/pyvenv.cfg", "");
    write(root, "env/lib.py", "");
    assert_eq!(
        paths(&open(root)),
        [
            ".eslintrc.js",
            ".github/w.yml",
            ".gitignore",
            "a.ts",
            "build/__init__.py"
        ]
    );
    let all = Filter {
        honour_gitignore: false,
        include_build_output: true,
    };
    let engine = Engine::open(root, all, None).unwrap();
    assert!(paths(&engine).contains(&"dist/o.js") && paths(&engine).contains(&"ignored/x.ts"));
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_and_odd_names_are_kept() {
    use std::os::unix::ffi::OsStrExt as _;
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "secret.ts", "export const secret = 1;");
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "a.ts", "import './out/secret'; import './loop/a';");
    std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
    std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
    fs::write(
        root.join(std::ffi::OsStr::from_bytes(b"bad\xFF|\n.ts")),
        "export const x = 1;",
    )
    .unwrap();
    let engine = open(root);
    assert_eq!(engine.model().paths().count(), 2);
    let text = kg::write_canonical(engine.graph());
    assert!(text.contains("||bad%FF%7C%0A.ts|ts\n"), "{text}");
    assert!(!text.contains("||secret.ts|"));
}

#[test]
fn a_refresh_takes_in_what_changed_and_equals_a_new_build() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "a.ts", "import { b } from './b'; b;");
    write(root, "c.ts", "export const b = 1;");
    let mut engine = open(root);
    fs::rename(root.join("c.ts"), root.join("b.ts")).unwrap();
    write(root, "a.ts", "import { b } from './b'; b; b;");
    let changes = engine.refresh().unwrap();
    assert_eq!(
        (changes.added, changes.changed, changes.removed),
        (
            vec!["b.ts".into()],
            vec!["a.ts".into()],
            vec!["c.ts".into()]
        )
    );
    assert_eq!(
        kg::write_canonical(engine.graph()),
        kg::write_canonical(open(root).graph())
    );
    assert!(engine.refresh().unwrap().is_empty());
    write(root, "b.ts", "export const other = 1;");
    let changes = engine.refresh_paths(&[engine.root().join("b.ts")]).unwrap();
    assert_eq!(changes.changed, ["b.ts"]);
    assert_eq!(
        kg::write_canonical(engine.graph()),
        kg::write_canonical(open(root).graph())
    );
}

#[test]
fn a_snapshot_lies_under_the_folders_hash_and_keeps_ids() {
    let folder = tempfile::tempdir().unwrap();
    let home = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "b.ts", "export const b = 1;");
    let cache = home.path().join("facts");
    let mut engine = Engine::open(root, Filter::default(), Some(cache.clone())).unwrap();
    let path = engine.write_snapshot(home.path()).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("file-tree-snapshot-")
            && path.with_extension("txt").exists()
            && cache.exists()
    );
    let before = fs::read_to_string(&path).unwrap();
    write(root, "a.ts", "");
    let mut engine = Engine::open(root, Filter::default(), Some(cache)).unwrap();
    engine.write_snapshot(home.path()).unwrap();
    let after = fs::read_to_string(&path).unwrap();
    let lines = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with(['n', 'e']))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(
        lines(&before)
            .iter()
            .all(|line| lines(&after).contains(line)),
        "{before}\n{after}"
    );
}

#[test]
fn a_root_that_is_gone_is_an_error_and_the_graph_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("w");
    write(&root, "a.ts", "export const a = 1;");
    let mut engine = open(&root);
    let before = kg::write_canonical(engine.graph());
    fs::remove_dir_all(&root).unwrap();
    assert!(engine.refresh().is_err());
    assert_eq!(kg::write_canonical(engine.graph()), before);
    assert!(Engine::open(&root, Filter::default(), None).is_err());
}

#[test]
fn a_watched_folder_takes_in_saves_renames_and_new_directories() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    write(root, "a.ts", "import { b } from './b'; b;");
    let debounce = Debounce {
        pause: Duration::from_millis(20),
        at_most: Duration::from_secs(1),
    };
    let mut live = LiveGraph::open(root, Filter::default(), None, debounce).unwrap();
    let mut wait_for = |what: &dyn Fn(&str) -> bool| {
        let until = Instant::now() + Duration::from_secs(30);
        while !what(&kg::write_canonical(live.engine().graph())) {
            assert!(
                live.next_changes(until).unwrap().is_some(),
                "the change never came"
            );
        }
        assert_eq!(
            kg::write_canonical(live.engine().graph()),
            kg::write_canonical(open(root).graph())
        );
    };
    write(root, "b.ts", "export const b = 1;");
    wait_for(&|kg| kg.contains("IMPORTS_SYMBOL"));
    write(root, "deep/er/c.ts", "export const c = 1;");
    wait_for(&|kg| kg.contains("||c.ts|"));
    write(root, "deep/er/c.ts", "export const renamed = 1;");
    wait_for(&|kg| kg.contains("||renamed|"));
    fs::rename(root.join("deep"), root.join("moved")).unwrap();
    wait_for(&|kg| kg.contains("||moved|") && !kg.contains("||deep|"));
    assert!(
        live.ask("exports moved/er/c.ts", None)
            .unwrap()
            .to_string()
            .contains("renamed:const")
    );
}

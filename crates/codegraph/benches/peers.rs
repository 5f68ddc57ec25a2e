//! The graph against other programs that do a part of its work: tree-sitter's parser, the TypeScript compiler's
//! `resolveModuleName`, and `ruff analyze graph`. The last two run where `CODEGRAPH_TYPESCRIPT` names the npm package
//! and `CODEGRAPH_RUFF` the program.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use children::children_milliseconds;
use codegraph::facts;
use codegraph::model::{Model, PreparedFile};
use sources::{path, source};
use timing::{best, milliseconds, verdict};

#[path = "support/children.rs"]
mod children;
#[allow(dead_code, reason = "each bench uses a part")]
#[path = "support/sources.rs"]
mod sources;
#[allow(dead_code, reason = "each bench uses a part")]
#[path = "support/timing.rs"]
mod timing;

const TYPESCRIPT_FILES: usize = 1_000;
const PYTHON_FILES: usize = 11_000;

fn main() {
    // Imports lead to any of the folder's files; only the first are there, as in a folder that lacks an install.
    let sources: Vec<(String, String)> = (0..TYPESCRIPT_FILES)
        .map(|number| (path(number), source(number)))
        .collect();
    let ours = best(5, || {
        for (path, text) in &sources {
            std::hint::black_box(facts::extract(path, text.as_bytes()));
        }
    });
    faster("facts_vs_tree_sitter", ours, tree_sitter(&sources), 8.0);
    bench_resolution(&sources);
    bench_python();
}

/// Prints how many times ours is faster than a peer.
fn faster(name: &str, ours: f64, peer: f64, target: f64) {
    let ratio = peer / ours;
    println!(
        "bench {name}: {ratio:.1}x faster ({ours:.0} ms, {peer:.0} ms) (target >= {target}x) {}",
        verdict(ratio >= target)
    );
}

fn tree_sitter(sources: &[(String, String)]) -> f64 {
    let mut parser = tree_sitter::Parser::new();
    if parser
        .set_language(&tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into())
        .is_err()
    {
        return f64::NAN;
    }
    milliseconds(|| {
        for (_, text) in sources {
            std::hint::black_box(parser.parse(text, None));
        }
    })
}

/// Facts, resolution and links of all files against the compiler's resolution of their imports alone.
fn bench_resolution(sources: &[(String, String)]) {
    let Some(typescript) = std::env::var_os("CODEGRAPH_TYPESCRIPT") else {
        return println!("bench resolution_vs_tsc: not run: CODEGRAPH_TYPESCRIPT is not set");
    };
    let Ok(directory) = tempfile::tempdir() else {
        return println!("bench resolution_vs_tsc: not run: no directory for the files");
    };
    if let Err(error) = write_all(directory.path(), sources) {
        return println!("bench resolution_vs_tsc: not run: {error}");
    }
    let ours = best(3, || {
        let mut model = Model::new("/w");
        for (path, text) in sources {
            model.set(PreparedFile::new(path, text.as_bytes(), None));
        }
        std::hint::black_box(model.commit());
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/resolve_module_names.cjs");
    let output = Command::new("node")
        .arg(script)
        .arg(typescript)
        .arg(directory.path())
        .output();
    let peer = output
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .and_then(|text| text.trim().parse().ok());
    match peer {
        Some(peer) => faster("resolution_vs_tsc", ours, peer, 20.0),
        None => println!("bench resolution_vs_tsc: not run: node said nothing"),
    }
}

/// Two processes over the same files; ours also reads exports and unused imports.
fn bench_python() {
    let Some(ruff) = std::env::var_os("CODEGRAPH_RUFF") else {
        return println!("bench python_vs_ruff: not run: CODEGRAPH_RUFF is not set");
    };
    let Ok(directory) = tempfile::tempdir() else {
        return println!("bench python_vs_ruff: not run: no directory for the files");
    };
    let sources: Vec<(String, String)> = (0..PYTHON_FILES).map(python).collect();
    if let Err(error) = write_all(directory.path(), &sources) {
        return println!("bench python_vs_ruff: not run: {error}");
    }
    let time_of = |command: &mut Command| {
        let before = children_milliseconds();
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.map(|_| children_milliseconds() - before)
    };
    let ours = time_of(
        Command::new(env!("CARGO_BIN_EXE_codegraph"))
            .arg("build")
            .arg(directory.path()),
    );
    let peer = time_of(
        Command::new(ruff)
            .args(["analyze", "graph", "--isolated", "--preview", "."])
            .current_dir(directory.path()),
    );
    let (Ok(ours), Ok(peer)) = (ours, peer) else {
        return println!("bench python_vs_ruff: not run: a program can't be started");
    };
    let ratio = ours / peer;
    println!(
        "bench python_{PYTHON_FILES}_files: {ratio:.2}x of ruff analyze graph ({ours:.0} ms, {peer:.0} ms) (target <= 2x) {}",
        verdict(ratio <= 2.0)
    );
}

/// A module of about 3 kB that imports three others.
fn python(number: usize) -> (String, String) {
    let mut text = String::from("import os\nimport typing as t\n");
    for step in [1, 13, 401] {
        let target = (number + step) % PYTHON_FILES;
        let _ = writeln!(
            text,
            "from pkg.p{}.m{target} import f{target}, C{target}",
            target / 100
        );
    }
    let _ = writeln!(text, "class C{number}:\n    x: t.Any = os.sep\n");
    for function in 0..14 {
        let _ = writeln!(
            text,
            "def g{function}(a, b=None, *args):\n    c = [x * 2 for x in a if x > {function}]\n    if c and b:\n        return {{'k': c[0], 'v': b}}\n    return [f'{{i}}' for i in range(len(args))]\n"
        );
    }
    let target = (number + 1) % PYTHON_FILES;
    let _ = writeln!(text, "def f{number}():\n    return f{target}() or g0([1])");
    (format!("pkg/p{}/m{number}.py", number / 100), text)
}

fn write_all(root: &Path, sources: &[(String, String)]) -> std::io::Result<()> {
    for (path, text) in sources {
        let path = root.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
            if path.extension().is_some_and(|extension| extension == "py") {
                std::fs::write(parent.join("__init__.py"), "")?;
            }
        }
        std::fs::write(path, text)?;
    }
    Ok(())
}

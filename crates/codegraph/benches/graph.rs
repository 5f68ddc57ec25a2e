//! How fast the graph is, each figure against a named reference in the same run.

use std::fmt::Write as _;
use std::time::Instant;

use codegraph::facts;
use codegraph::kg;
use codegraph::model::{Model, PreparedFile};
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

const FILES: usize = 10_000;

fn source(number: usize) -> String {
    let mut text = String::new();
    for step in [1, 7, 31, 101, 577] {
        let target = (number + step) % FILES;
        let _ = writeln!(
            text,
            "import {{ f{target}, type T{target} }} from '../d{}/m{target}';",
            target / 100
        );
    }
    let _ = writeln!(
        text,
        "export interface T{number} {{ a: string; b: number[] }}"
    );
    for function in 0..12 {
        let _ = writeln!(
            text,
            "function g{function}(a: number, b: string) {{ const c = [a, a * 2].map((v) => ({{ v, b }})); return c.length > 3 ? c[0] : null; }}"
        );
    }
    let _ = writeln!(
        text,
        "export function f{number}() {{ return g0(1, 'x') ?? f{}(); }}",
        (number + 1) % FILES
    );
    text
}

fn path(number: usize) -> String {
    format!("src/d{}/m{number}.ts", number / 100)
}

/// Nanoseconds that this thread has run, where the system says: other work on the machine doesn't count.
fn thread_nanoseconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// How long a run takes, in milliseconds of the thread.
fn milliseconds(run: impl FnOnce()) -> f64 {
    let (started, before) = (Instant::now(), thread_nanoseconds());
    run();
    match before.zip(thread_nanoseconds()) {
        Some((before, after)) => (after - before) / 1e6,
        None => started.elapsed().as_secs_f64() * 1e3,
    }
}

/// The best of some runs, in milliseconds.
fn best(runs: u32, mut run: impl FnMut()) -> f64 {
    (0..runs)
        .map(|_| milliseconds(&mut run))
        .fold(f64::MAX, f64::min)
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "ok" } else { "MISS" }
}

fn ratio(name: &str, ours: f64, reference_name: &str, reference: f64, target: f64) {
    let ratio = ours / reference;
    let verdict = verdict(ratio <= target);
    println!(
        "bench {name}: {ratio:.2}x of {reference_name} ({ours:.2} ms, {reference:.2} ms) (target <= {target}x) {verdict}"
    );
}

fn main() {
    let sources: Vec<(String, String)> = (0..FILES)
        .map(|number| (path(number), source(number)))
        .collect();
    bench_facts(&sources[..1_000]);
    let mut model = Model::new("/w");
    for (path, text) in &sources {
        model.set(PreparedFile::new(path, text.as_bytes(), None));
    }
    let first = milliseconds(|| {
        model.commit();
    });
    println!("bench first_commit: {first:.1} ms for {FILES} files, facts not counted");
    bench_edit(&mut model);
    bench_kg(&model);
}

/// Facts against the parser alone, which they can't beat.
fn bench_facts(sources: &[(String, String)]) {
    let ours = best(5, || {
        for (path, text) in sources {
            std::hint::black_box(facts::extract(path, text.as_bytes()));
        }
    });
    let parser = best(5, || {
        for (_, text) in sources {
            let allocator = Allocator::default();
            std::hint::black_box(Parser::new(&allocator, text, SourceType::ts()).parse());
        }
    });
    ratio("facts_1000_ts", ours, "parsing alone", parser, 3.0);
}

/// From a saved file to new answers: where its exports stay, and where they change.
fn bench_edit(model: &mut Model) {
    let mut edit = 0;
    for (name, line) in [("body", "// edit "), ("export", "export const edit")] {
        let ours = best(20, || {
            edit += 1;
            let text = source(5_000) + &format!("{line}{edit} = 1;\n");
            model.set(PreparedFile::new(&path(5_000), text.as_bytes(), None));
            model.commit();
        });
        let verdict = verdict(ours <= 20.0);
        println!(
            "bench one_file_edit_{name}: {ours:.2} ms at {FILES} files (target <= 20 ms) {verdict}"
        );
    }
}

/// Reading against splitting the same lines, which is the least a reader does.
fn bench_kg(model: &Model) {
    let text = kg::write_canonical(model.graph());
    let ours = best(5, || {
        std::hint::black_box(kg::read(&text).is_ok());
    });
    let floor = best(5, || {
        std::hint::black_box(
            text.lines()
                .map(|line| line.split('|').count())
                .sum::<usize>(),
        );
    });
    ratio(
        "kg_read_10000_files",
        ours,
        "split('|') of every line",
        floor,
        8.0,
    );
}

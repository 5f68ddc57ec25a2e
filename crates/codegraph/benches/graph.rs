//! How fast the graph is, each figure against a named reference in the same run.

use codegraph::facts;
use codegraph::kg;
use codegraph::model::{Model, PreparedFile};
use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;
use sources::{FILES, path, source};
use timing::{best, milliseconds, ratio, verdict};

#[path = "support/sources.rs"]
mod sources;
#[path = "support/timing.rs"]
mod timing;

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

//! How often the five likeliest next files hold another file of the same commit, on a real history.
//!
//! The newest 30 of 100 commits are asked, the rest is learned from; the graph is that of the newest commit. The
//! repository around this crate is measured, and the one that `CODEGRAPH_HISTORY` names, if it is set.

use std::path::{Path, PathBuf};
use std::time::Instant;

use codegraph::analysis::FileGraph;
use codegraph::analysis::history::History;
use codegraph::analysis::predict::{Predictor, Weights};
use codegraph::engine::Engine;
use codegraph::filter::Filter;

/// What the mix must reach of the best signal by itself.
const TARGET: f64 = 1.0;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    measure(&here);
    if let Some(other) = std::env::var_os("CODEGRAPH_HISTORY") {
        measure(&PathBuf::from(other));
    }
}

fn measure(root: &Path) {
    let started = Instant::now();
    let history = match History::read(root, 4_000) {
        Ok(history) => history,
        Err(error) => return println!("bench next: not run: {error}"),
    };
    let read = started.elapsed().as_secs_f64() * 1e3;
    let engine = match Engine::open(root, Filter::default(), None) {
        Ok(engine) => engine,
        Err(error) => return println!("bench next: not run: {error}"),
    };
    let files = FileGraph::new(engine.graph());
    let (asked, known) = history.commits.split_at(history.commits.len() * 3 / 10);
    let known = History {
        commits: known.to_vec(),
    };
    let rate = |weights| {
        let predictor = Predictor::with_weights(&files, &known, weights);
        predictor.hit_rate(asked, 5)
    };
    let nothing = Weights {
        imports: 0.0,
        together: 0.0,
        stem: 0.0,
        directory: 0.0,
    };
    let imports = rate(Weights {
        imports: 1.0,
        ..nothing
    });
    let together = rate(Weights {
        together: 1.0,
        ..nothing
    });
    let mix = rate(Weights::default());
    let best = imports.rate().max(together.rate());
    let ratio = mix.rate() / best.max(f64::MIN_POSITIVE);
    let verdict = if ratio >= TARGET { "ok" } else { "MISS" };
    println!(
        "bench next_hit_at_5: {:.2} of {} questions, {ratio:.2}x of the best signal alone (imports {:.2}, together {:.2}) (target >= {TARGET}x) {verdict}; {} commits read in {read:.0} ms: {}",
        mix.rate(),
        mix.questions,
        imports.rate(),
        together.rate(),
        history.commits.len(),
        root.display(),
    );
}

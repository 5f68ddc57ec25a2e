//! A checkpoint of a tree of 10,000 files of which 10 changed, against hashing those 10.

#[path = "support/measure.rs"]
mod measure;
#[path = "support/tree.rs"]
mod tree;

use std::fs;

use workspace::{ContentHash, History, Suspects, TreeWatch, Workspace};

fn main() {
    let (folder, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    tree::make(folder.path(), 10_000, 20_000);
    let workspace = Workspace::open(&[folder.path()]).unwrap();
    let history = History::open(data.path()).unwrap();
    let mut checkpoint = history.checkpoint("m1", 1).unwrap();
    let started = std::time::Instant::now();
    checkpoint
        .before_command(&workspace, &Suspects::All)
        .unwrap();
    println!(
        "the first look, which keeps all 10,000 files: {:.0} ms",
        started.elapsed().as_secs_f64() * 1e3
    );
    let mut watch = TreeWatch::start(&workspace, &history).unwrap();
    let changed: Vec<_> = (0..10)
        .map(|number| {
            folder
                .path()
                .join(format!("d{:03}/f{}.rs", number * 7, number * 700))
        })
        .collect();
    let mut round = 0;
    for (name, size, watched) in [
        (
            "checkpoint, 10 files of 1 MB changed, watched",
            1_000_000,
            true,
        ),
        (
            "checkpoint, 10 files of 20 KB changed, watched",
            20_000,
            true,
        ),
        (
            "checkpoint, 10 files of 20 KB changed, not watched",
            20_000,
            false,
        ),
    ] {
        let mut ours = f64::INFINITY;
        for _ in 0..7 {
            round += 1;
            let _ = watch.suspects();
            for path in &changed {
                fs::write(path, format!("{round:08}").repeat(size / 8)).unwrap();
            }
            let started = std::time::Instant::now();
            let suspects = if watched {
                watch.suspects()
            } else {
                Suspects::All
            };
            let count = checkpoint.after_command(&workspace, &suspects).unwrap();
            ours = ours.min(started.elapsed().as_secs_f64());
            assert_eq!(count, 10);
        }
        let reference = measure::best_of(7, || {
            for path in &changed {
                std::hint::black_box(ContentHash::of(&fs::read(path).unwrap()));
            }
        });
        measure::report(name, ours, reference, "hashing those 10", 5.0);
    }
}

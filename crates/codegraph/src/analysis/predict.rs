//! Which file will need a change next, after one that was changed.
//!
//! Three signals are mixed: a short walk along imports, files that changed together in history, and files of the same
//! stem (a source and its test). No one of them is best everywhere; the mix is better than each.

use rustc_hash::FxHashMap;

use super::FileGraph;
use super::history::History;
use crate::language::{file_name, parent};

/// Commits that touch more files than this say nothing about which of them belong together.
const LARGE_COMMIT: usize = 30;

/// How much each signal counts; each is scaled to at most 1 before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// The walk along imports.
    pub imports: f64,
    /// Files changed in the same commits.
    pub together: f64,
    /// Files of the same stem.
    pub stem: f64,
    /// Files of the same directory, among those that another signal found.
    pub directory: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            imports: 1.0,
            together: 1.6,
            stem: 0.6,
            directory: 0.15,
        }
    }
}

/// What predictions are made from.
pub struct Predictor<'g> {
    files: &'g FileGraph,
    weights: Weights,
    /// For every file, those that changed with it and how strongly that ties them.
    together: FxHashMap<u32, FxHashMap<u32, f64>>,
    by_stem: FxHashMap<String, Vec<u32>>,
}

/// How often a prediction was right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitRate {
    /// Questions asked.
    pub questions: u32,
    /// Questions whose answer held a right file.
    pub hits: u32,
}

impl HitRate {
    /// Hits by questions; 0 where none was asked.
    #[must_use]
    pub fn rate(self) -> f64 {
        if self.questions == 0 {
            return 0.0;
        }
        f64::from(self.hits) / f64::from(self.questions)
    }
}

impl<'g> Predictor<'g> {
    /// Learns from history; without any, imports and names decide alone.
    #[must_use]
    pub fn new(files: &'g FileGraph, history: &History) -> Self {
        Self::with_weights(files, history, Weights::default())
    }

    /// As [`Predictor::new`], with other weights.
    #[must_use]
    pub fn with_weights(files: &'g FileGraph, history: &History, weights: Weights) -> Self {
        let numbers: FxHashMap<&str, u32> = (0..)
            .zip(&files.paths)
            .map(|(number, path)| (path.as_str(), number))
            .collect();
        let mut together: FxHashMap<u32, FxHashMap<u32, f64>> = FxHashMap::default();
        for commit in &history.commits {
            if commit.len() < 2 || commit.len() > LARGE_COMMIT {
                continue;
            }
            let known: Vec<u32> = commit
                .iter()
                .filter_map(|path| numbers.get(path.as_str()).copied())
                .collect();
            #[allow(clippy::cast_precision_loss)]
            let weight = 1.0 / (known.len() as f64).sqrt();
            for (index, first) in known.iter().enumerate() {
                for second in &known[index + 1..] {
                    for (from, to) in [(first, second), (second, first)] {
                        *together.entry(*from).or_default().entry(*to).or_default() += weight;
                    }
                }
            }
        }
        let mut by_stem: FxHashMap<String, Vec<u32>> = FxHashMap::default();
        for (number, path) in (0..).zip(&files.paths) {
            by_stem.entry(stem(path)).or_default().push(number);
        }
        Self {
            files,
            weights,
            together,
            by_stem,
        }
    }

    /// Asks, for every file of every commit of 2 to 10 known files, for the `count` likeliest others, and counts how
    /// often another file of the same commit is among them. The commits must be none that the predictor learned from.
    #[must_use]
    pub fn hit_rate(&self, commits: &[Vec<String>], count: usize) -> HitRate {
        let numbers: FxHashMap<&str, u32> = (0..)
            .zip(&self.files.paths)
            .map(|(number, path)| (path.as_str(), number))
            .collect();
        let mut rate = HitRate::default();
        for commit in commits {
            let known: Vec<u32> = commit
                .iter()
                .filter_map(|path| numbers.get(path.as_str()).copied())
                .collect();
            if !(2..=10).contains(&known.len()) {
                continue;
            }
            for file in &known {
                let likely = self.next(*file, count);
                rate.questions += 1;
                rate.hits += u32::from(likely.iter().any(|(other, _)| known.contains(other)));
            }
        }
        rate
    }

    /// The most likely next files after one, best first, at most `count`, with their scores.
    #[must_use]
    pub fn next(&self, file: u32, count: usize) -> Vec<(u32, f64)> {
        let mut scores: FxHashMap<u32, f64> = FxHashMap::default();
        for (other, score) in scaled(self.walk(file)) {
            *scores.entry(other).or_default() += self.weights.imports * score;
        }
        let changed = self.together.get(&file).into_iter().flatten();
        let changed = changed.map(|(to, weight)| (*to, *weight));
        for (other, score) in scaled(changed.collect()) {
            *scores.entry(other).or_default() += self.weights.together * score;
        }
        for other in self
            .by_stem
            .get(&stem(&self.files.paths[file as usize]))
            .into_iter()
            .flatten()
        {
            *scores.entry(*other).or_default() += self.weights.stem;
        }
        let directory = parent(&self.files.paths[file as usize]);
        for (other, score) in &mut scores {
            if parent(&self.files.paths[*other as usize]) == directory {
                *score += self.weights.directory;
            }
        }
        scores.remove(&file);
        scores.retain(|_, score| *score > 0.0);
        let mut ranked: Vec<(u32, f64)> = scores.into_iter().collect();
        ranked.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        ranked.truncate(count);
        ranked
    }

    /// One step along imports both ways, and half a step more.
    fn walk(&self, file: u32) -> Vec<(u32, f64)> {
        let mut mass: FxHashMap<u32, f64> = FxHashMap::default();
        for (next, share) in self.step(file) {
            *mass.entry(next).or_default() += share;
            for (second, inner) in self.step(next) {
                *mass.entry(second).or_default() += 0.5 * share * inner;
            }
        }
        mass.remove(&file);
        let mut mass: Vec<(u32, f64)> = mass.into_iter().collect();
        mass.sort_unstable_by_key(|(file, _)| *file);
        mass
    }

    fn step(&self, file: u32) -> Vec<(u32, f64)> {
        let (out, into) = (self.files.imports(file), self.files.importers(file));
        #[allow(clippy::cast_precision_loss)]
        let share = |row: &[u32]| 1.0 / row.len().max(1) as f64;
        let out_share = share(out);
        let into_share = share(into);
        out.iter()
            .map(|next| (*next, out_share))
            .chain(into.iter().map(|next| (*next, into_share)))
            .collect()
    }
}

/// Scales scores so that the best is 1.
fn scaled(mut scores: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let best = scores.iter().map(|(_, score)| *score).fold(0.0, f64::max);
    if best > 0.0 {
        scores.iter_mut().for_each(|(_, score)| *score /= best);
    }
    scores
}

/// What a source, its test and its stories have in common in their names.
fn stem(path: &str) -> String {
    let name = file_name(path).split('.').next().unwrap_or_default();
    let name = name.strip_prefix("test_").unwrap_or(name);
    let name = name.strip_suffix("_test").unwrap_or(name);
    match name {
        "index" | "__init__" | "mod" => file_name(parent(path)).to_lowercase(),
        name => name.to_lowercase(),
    }
}

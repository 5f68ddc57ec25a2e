//! PageRank over imports: files that much of the code leans on rank high.
//!
//! L. Page, S. Brin, R. Motwani, T. Winograd: The PageRank Citation Ranking (1999). Damping 0.85; the mass of files
//! that import nothing is spread like the jumps. Sums run in a fixed order, so equal graphs give equal bits.

use super::FileGraph;

const DAMPING: f64 = 0.85;
const TOLERANCE: f64 = 1e-9;
const ROUNDS: u32 = 100;

/// Ranks of all files; they sum to 1. `jump` weighs where a random reader starts, evenly where it is empty.
#[must_use]
pub fn page_rank(files: &FileGraph, jump: &[f64]) -> Vec<f64> {
    let count = files.len();
    if count == 0 {
        return Vec::new();
    }
    #[allow(clippy::cast_precision_loss)]
    let even = 1.0 / count as f64;
    let total: f64 = jump.iter().sum();
    let jump: Vec<f64> = if jump.len() == count && total > 0.0 {
        jump.iter().map(|weight| weight / total).collect()
    } else {
        vec![even; count]
    };
    let mut ranks = jump.clone();
    for _ in 0..ROUNDS {
        let dangling: f64 = (0..count)
            .filter(|file| out(files, *file).is_empty())
            .map(|file| ranks[file])
            .sum();
        let mut next: Vec<f64> = jump
            .iter()
            .map(|weight| weight * (1.0 - DAMPING) + weight * DAMPING * dangling)
            .collect();
        for (file, rank) in ranks.iter().enumerate() {
            let targets = out(files, file);
            #[allow(clippy::cast_precision_loss)]
            let share = DAMPING * rank / targets.len() as f64;
            for target in targets {
                next[*target as usize] += share;
            }
        }
        let moved: f64 = ranks
            .iter()
            .zip(&next)
            .map(|(old, new)| (old - new).abs())
            .sum();
        ranks = next;
        if moved < TOLERANCE {
            break;
        }
    }
    ranks
}

fn out(files: &FileGraph, file: usize) -> &[u32] {
    files.imports(u32::try_from(file).unwrap_or(u32::MAX))
}

/// Files by falling rank, equal ranks by path.
#[must_use]
pub fn by_rank(ranks: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..).take(ranks.len()).collect();
    order.sort_by(|left, right| {
        ranks[*right as usize]
            .total_cmp(&ranks[*left as usize])
            .then(left.cmp(right))
    });
    order
}

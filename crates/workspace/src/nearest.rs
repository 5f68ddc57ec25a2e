//! Near misses: the block of a file most like a text that isn't in it, and names most like a name that isn't there.

use std::fmt;

use serde::Serialize;

/// Texts longer than this, in lines, are searched for their first lines only.
const MOST_LINES: usize = 60;
/// A block that has less in common with the text than this share isn't worth showing.
const LEAST_SHARE: f64 = 0.5;
/// A name with less in common isn't suggested; names are short, so a slip costs them much.
const LEAST_NAME_SHARE: f64 = 0.35;
/// Lines of the file that are compared; beyond them a search for something similar takes too long.
const MOST_FILE_LINES: usize = 50_000;

/// The block of a file that is most like a text that was looked for, with what differs made visible.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearestBlock {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// How much of the text it has, from 0 to 1.
    pub share: f64,
    /// The lines in question: as looked for and as in the file.
    pub lines: Vec<LinePair>,
}

/// A line that was looked for beside the one that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LinePair {
    /// As looked for.
    pub wanted: String,
    /// As in the file; none if the file ends before.
    pub there: Option<String>,
}

impl fmt::Display for NearestBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (offset, pair) in (0..).zip(&self.lines) {
            let number = self.line + offset;
            match &pair.there {
                Some(there) if *there == pair.wanted => writeln!(f, "{number:>5}   {there}")?,
                Some(there) => {
                    writeln!(f, "{number:>5} - {} (wanted)", visible(&pair.wanted, there))?;
                    writeln!(
                        f,
                        "{number:>5} + {} (in the file)",
                        visible(there, &pair.wanted)
                    )?;
                }
                None => writeln!(
                    f,
                    "{number:>5} - {} (wanted; the file has ended)",
                    pair.wanted
                )?,
            }
        }
        Ok(())
    }
}

/// The line with invisible characters shown if that is where it differs from the other.
fn visible(line: &str, other: &str) -> String {
    let bare = |text: &str| -> String { text.split_whitespace().collect() };
    if bare(line) != bare(other) && line.is_ascii() {
        return line.to_owned();
    }
    let content = line.trim_end();
    let mut out = String::with_capacity(line.len());
    for (at, character) in line.char_indices() {
        match character {
            '\t' => out.push('→'),
            '\r' => out.push('␍'),
            ' ' if at >= content.len() || line[..at].trim().is_empty() => out.push('·'),
            ' ' => out.push(' '),
            odd if odd.is_control() || (odd.is_whitespace()) || is_invisible(odd) => {
                out.push_str(&format!("<U+{:04X}>", u32::from(odd)));
            }
            plain => out.push(plain),
        }
    }
    out
}

fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Finds the block of `text` most like `wanted`, line by line.
pub(crate) fn nearest_block(text: &str, wanted: &str) -> Option<NearestBlock> {
    let wanted: Vec<&str> = wanted.lines().take(MOST_LINES).collect();
    let there: Vec<&str> = text.lines().take(MOST_FILE_LINES).collect();
    let anchor = wanted.iter().position(|line| !line.trim().is_empty())?;
    let mut best: Option<(usize, f64)> = None;
    for (at, line) in there.iter().enumerate() {
        // A block worth showing begins with something like the first line, or has a line of the text verbatim.
        let rough = likeness(wanted[anchor], line);
        if rough < LEAST_SHARE {
            continue;
        }
        let from = at.saturating_sub(anchor);
        let sum: f64 = (from..)
            .zip(&wanted)
            .map(|(at, line)| there.get(at).map_or(0.0, |there| likeness(line, there)))
            .sum();
        let share = sum / wanted.len() as f64;
        if best.is_none_or(|(_, most)| share > most) {
            best = Some((from, share));
        }
    }
    let (from, share) = best.filter(|(_, share)| *share >= LEAST_SHARE)?;
    let lines = (from..)
        .zip(&wanted)
        .map(|(at, wanted)| LinePair {
            wanted: (*wanted).to_owned(),
            there: there.get(at).map(|line| (*line).to_owned()),
        })
        .collect();
    Some(NearestBlock {
        line: from as u64 + 1,
        share,
        lines,
    })
}

/// How alike two lines are, from 0 to 1: the share of their pairs of neighbouring characters that they have in
/// common (Dice's coefficient), white space at the ends left aside.
fn likeness(one: &str, other: &str) -> f64 {
    if one == other {
        return 1.0;
    }
    let (one, other) = (one.trim(), other.trim());
    if one == other {
        return 0.95;
    }
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    if short.len() * 3 < long.len() || short.is_empty() || long.len() > 500 {
        return 0.0;
    }
    let pairs = |text: &str| -> Vec<(char, char)> {
        let mut pairs: Vec<_> = text.chars().zip(text.chars().skip(1)).collect();
        pairs.sort_unstable();
        pairs
    };
    let (one, other) = (pairs(one), pairs(other));
    let total = one.len() + other.len();
    let (mut left, mut right, mut common) = (one.iter().peekable(), other.iter().peekable(), 0);
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => drop(left.next()),
            std::cmp::Ordering::Greater => drop(right.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                left.next();
                right.next();
            }
        }
    }
    if total == 0 {
        0.0
    } else {
        0.9 * 2.0 * f64::from(common) / total as f64
    }
}

/// The names most like the wanted one, the most similar first.
pub(crate) fn nearest_names<'a>(
    wanted: &str,
    names: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<String> {
    let lower = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|name| (likeness(&lower, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= LEAST_NAME_SHARE)
        .collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    scored
        .into_iter()
        .take(most)
        .map(|(_, name)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_block_shows_what_differs_even_if_it_is_invisible() {
        let text = "fn a() {\n\tlet x = 1;\n}\n\nfn b() {\n\tlet y = 2;\n}\n";
        let block = nearest_block(text, "fn b() {\n    let y = 2;\n}").unwrap();
        assert_eq!(block.line, 5);
        let shown = block.to_string();
        assert!(shown.contains("6 - ····let y = 2; (wanted)"), "{shown}");
        assert!(shown.contains("6 + →let y = 2; (in the file)"), "{shown}");
        let block = nearest_block("a\u{a0}= b + c", "a = b + c")
            .unwrap()
            .to_string();
        assert!(block.contains("a<U+00A0>= b + c"), "{block}");
    }

    #[test]
    fn nothing_is_shown_where_nothing_is_alike() {
        assert_eq!(
            nearest_block("alpha\nbeta\n", "fn main() { println!() }"),
            None
        );
        assert_eq!(nearest_block("", "x"), None);
        assert_eq!(nearest_block("x", "\n\n"), None);
    }

    #[test]
    fn names_are_suggested_in_the_order_of_their_likeness() {
        let names = ["reader.rs", "read.rs", "main.rs", "README.md"];
        assert_eq!(nearest_names("raed.rs", names.into_iter(), 1), ["read.rs"]);
        assert_eq!(
            nearest_names("readme.md", names.into_iter(), 1),
            ["README.md"]
        );
    }
}

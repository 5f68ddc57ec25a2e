//! The backtracking matcher. Its stack of ways left to try is its own, and every few thousand steps it asks whether
//! it may go on.

use super::Regex;
use super::charset::{canonicalize, contains_folded};
use super::program::Inst;
use crate::text::Units;

/// Group positions of a match; the first is the whole match.
pub(crate) type Captures = Vec<Option<(usize, usize)>>;

/// Why matching gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchError {
    Interrupted,
    /// The ways left to try outgrew the matcher's memory.
    TooComplex,
}

const NONE: usize = usize::MAX;
/// Steps between two questions whether to go on.
const STEPS: u32 = 4096;
const STACK_LIMIT: usize = 4_000_000;

enum Back {
    Try {
        pc: u32,
        at: usize,
    },
    /// A greedy run: from `at` down to `least`.
    Shrink {
        pc: u32,
        at: usize,
        least: usize,
    },
    /// A lazy run: from `at` up to `most` further characters.
    Grow {
        pc: u32,
        set: u32,
        at: usize,
        more: u32,
    },
    Group {
        slot: u32,
        old: usize,
    },
    Counter {
        slot: u32,
        old: usize,
    },
}

struct Matcher<'a, 'i> {
    regex: &'a Regex,
    text: Units<'a>,
    unicode: bool,
    groups: Vec<usize>,
    counters: Vec<usize>,
    stack: Vec<Back>,
    steps: u32,
    interrupt: &'i mut dyn FnMut(u32) -> bool,
}

pub(crate) fn search(
    regex: &Regex,
    text: Units<'_>,
    start: usize,
    sticky: bool,
    interrupt: &mut dyn FnMut(u32) -> bool,
) -> Result<Option<Captures>, MatchError> {
    let mut m = Matcher {
        regex,
        text,
        unicode: regex.flags.by_code_point(),
        groups: vec![NONE; regex.groups * 2],
        counters: vec![0; regex.counters],
        stack: Vec::new(),
        steps: 0,
        interrupt,
    };
    let mut at = start;
    while at <= text.len() {
        if !sticky && let Some(first) = &regex.first {
            match (at..text.len()).find(|&i| {
                let unit = text.at(i);
                unit > 255 || first[unit as usize]
            }) {
                Some(found) => at = found,
                None => return Ok(None),
            }
        }
        m.groups.fill(NONE);
        m.stack.clear();
        if m.run(0, at)?.is_some() {
            let groups = m.groups.chunks_exact(2);
            return Ok(Some(
                groups
                    .map(|g| (g[0] != NONE && g[1] != NONE).then_some((g[0], g[1])))
                    .collect(),
            ));
        }
        if sticky {
            return Ok(None);
        }
        at += if m.unicode && at < text.len() {
            text.code_point(at).1
        } else {
            1
        };
        m.tick()?;
    }
    Ok(None)
}

impl Matcher<'_, '_> {
    fn tick(&mut self) -> Result<(), MatchError> {
        self.steps += 1;
        if self.steps >= STEPS {
            self.steps = 0;
            if !(self.interrupt)(STEPS) {
                return Err(MatchError::Interrupted);
            }
        }
        Ok(())
    }

    /// The character before or after a position, and the position behind it.
    fn step(&self, at: usize, back: bool) -> Option<(u32, usize)> {
        if back {
            if at == 0 {
                return None;
            }
            let low = u32::from(self.text.at(at - 1));
            if self.unicode && (0xDC00..0xE000).contains(&low) && at >= 2 {
                let (c, len) = self.text.code_point(at - 2);
                if len == 2 {
                    return Some((c, at - 2));
                }
            }
            return Some((low, at - 1));
        }
        let unit = self.text.get(at)?;
        if self.unicode && (0xD800..0xDC00).contains(&unit) {
            let (c, len) = self.text.code_point(at);
            return Some((c, at + len));
        }
        Some((u32::from(unit), at + 1))
    }

    fn is_word(&self, at: usize) -> bool {
        self.text
            .get(at)
            .is_some_and(|u| matches!(u, 48..=57 | 65..=90 | 95 | 97..=122))
    }

    fn is_line_end(&self, at: usize) -> bool {
        matches!(self.text.get(at), Some(10 | 13 | 0x2028 | 0x2029))
    }

    fn set_group(&mut self, slot: u32, value: usize) {
        let old = std::mem::replace(&mut self.groups[slot as usize], value);
        self.stack.push(Back::Group { slot, old });
    }

    fn set_counter(&mut self, slot: u32, value: usize) {
        let old = std::mem::replace(&mut self.counters[slot as usize], value);
        self.stack.push(Back::Counter { slot, old });
    }

    /// Runs from an instruction until a match (its end is returned) or until every way failed.
    fn run(&mut self, pc: u32, at: usize) -> Result<Option<usize>, MatchError> {
        let base = self.stack.len();
        let mut pc = pc;
        let mut at = at;
        loop {
            self.tick()?;
            if self.stack.len() > STACK_LIMIT {
                return Err(MatchError::TooComplex);
            }
            let next = match self.regex.code[pc as usize] {
                Inst::Match => return Ok(Some(at)),
                Inst::Jump(to) => {
                    pc = to;
                    continue;
                }
                Inst::Split { first, second } => {
                    self.stack.push(Back::Try { pc: second, at });
                    pc = first;
                    continue;
                }
                Inst::Look { negative, end } => {
                    if self.look(pc + 1, at)? == negative {
                        None
                    } else {
                        pc = end;
                        continue;
                    }
                }
                Inst::Loop {
                    counter,
                    min,
                    bounds,
                    greedy,
                } => {
                    pc = self.another_round(pc, at, (counter, min, bounds, greedy));
                    continue;
                }
                Inst::LoopEnd {
                    counter,
                    start,
                    min,
                } => {
                    let empty = self.counters[counter as usize + 1] == at;
                    if empty && self.counters[counter as usize] > min as usize {
                        None
                    } else {
                        pc = start;
                        continue;
                    }
                }
                other => self.simple(other, pc, at)?,
            };
            match next {
                Some(to) => {
                    at = to;
                    pc += 1;
                }
                None => match self.backtrack(base) {
                    Some((to, from)) => {
                        pc = to;
                        at = from;
                    }
                    None => return Ok(None),
                },
            }
        }
    }

    /// Runs a look-around; what it captured stays, the ways it left don't.
    fn look(&mut self, pc: u32, at: usize) -> Result<bool, MatchError> {
        let base = self.stack.len();
        let found = self.run(pc, at)?.is_some();
        if found {
            let undo: Vec<Back> = self
                .stack
                .drain(base..)
                .filter(|b| matches!(b, Back::Group { .. } | Back::Counter { .. }))
                .collect();
            self.stack.extend(undo);
        }
        Ok(found)
    }

    fn another_round(
        &mut self,
        pc: u32,
        at: usize,
        (counter, min, bounds, greedy): (u32, u32, u32, bool),
    ) -> u32 {
        let (max, exit) = self.regex.bounds[bounds as usize];
        let count = self.counters[counter as usize];
        if count >= max as usize && max != u32::MAX {
            return exit;
        }
        if count >= min as usize {
            if !greedy {
                // The other way must find the counters as they are now.
                self.stack.push(Back::Try { pc: pc + 1, at });
                self.lazy_round(counter, count, at);
                return exit;
            }
            self.stack.push(Back::Try { pc: exit, at });
        }
        self.set_counter(counter, count + 1);
        self.set_counter(counter + 1, at);
        pc + 1
    }

    /// Prepares the counters for a round that is tried only after leaving the loop failed: undone on the way there.
    fn lazy_round(&mut self, counter: u32, count: usize, at: usize) {
        let entry = self.stack.pop();
        self.set_counter(counter, count + 1);
        self.set_counter(counter + 1, at);
        self.stack.extend(entry);
    }

    /// Instructions that either move the position or fail.
    fn simple(&mut self, inst: Inst, pc: u32, at: usize) -> Result<Option<usize>, MatchError> {
        Ok(match inst {
            Inst::Char { c, back } => self
                .step(at, back)
                .and_then(|(x, to)| (x == c).then_some(to)),
            Inst::CharFolded { c, back } => self
                .step(at, back)
                .and_then(|(x, to)| (canonicalize(x, self.unicode) == c).then_some(to)),
            Inst::Set { set, back } => {
                let set = &self.regex.sets[set as usize];
                self.step(at, back)
                    .and_then(|(x, to)| set.contains(x).then_some(to))
            }
            Inst::SetFolded { set, back } => {
                let set = &self.regex.sets[set as usize];
                self.step(at, back)
                    .and_then(|(x, to)| contains_folded(set, x, self.unicode).then_some(to))
            }
            Inst::Save(slot) => {
                self.set_group(slot, at);
                Some(at)
            }
            Inst::ResetGroups { from, to } => {
                for slot in 2 * from..2 * to {
                    if self.groups[slot as usize] != NONE {
                        self.set_group(slot, NONE);
                    }
                }
                Some(at)
            }
            Inst::LineStart { multiline } => {
                (at == 0 || (multiline && self.is_line_end(at - 1))).then_some(at)
            }
            Inst::LineEnd { multiline } => {
                (at == self.text.len() || (multiline && self.is_line_end(at))).then_some(at)
            }
            Inst::WordEdge { negative } => {
                let before = at > 0 && self.is_word(at - 1);
                ((before != self.is_word(at)) != negative).then_some(at)
            }
            Inst::BackRef { list, fold, back } => self.back_reference(list, fold, back, at),
            Inst::LoopStart { counter } => {
                self.set_counter(counter, 0);
                self.set_counter(counter + 1, NONE);
                Some(at)
            }
            Inst::Run {
                set,
                min,
                max,
                greedy,
            } => self.run_of(pc, at, (set, min, max, greedy))?,
            Inst::Match
            | Inst::Jump(_)
            | Inst::Split { .. }
            | Inst::Look { .. }
            | Inst::Loop { .. } => None,
            Inst::LoopEnd { .. } => None,
        })
    }

    fn run_of(
        &mut self,
        pc: u32,
        at: usize,
        (set_at, min, max, greedy): (u32, u32, u32, bool),
    ) -> Result<Option<usize>, MatchError> {
        let set = &self.regex.sets[set_at as usize];
        let limit = if greedy { max } else { min };
        let mut end = at;
        let mut least = at;
        let mut count = 0u32;
        while count < limit {
            match self.step(end, false) {
                Some((x, to)) if set.contains(x) => end = to,
                _ => break,
            }
            count += 1;
            if count == min {
                least = end;
            }
        }
        self.steps += count / 8;
        if count < min {
            return Ok(None);
        }
        if min == 0 {
            least = at;
        }
        if greedy && end > least {
            self.stack.push(Back::Shrink {
                pc: pc + 1,
                at: end,
                least,
            });
        } else if !greedy && max > min {
            self.stack.push(Back::Grow {
                pc: pc + 1,
                set: set_at,
                at: end,
                more: max - min,
            });
        }
        Ok(Some(end))
    }

    fn back_reference(&self, list: u32, fold: bool, back: bool, at: usize) -> Option<usize> {
        let found = self.regex.lists[list as usize]
            .iter()
            .map(|&g| (self.groups[2 * g], self.groups[2 * g + 1]))
            .find(|&(a, b)| a != NONE && b != NONE);
        let Some((a, b)) = found else { return Some(at) };
        let len = b - a;
        let (from, to) = if back {
            (at.checked_sub(len)?, at)
        } else {
            (at, at + len)
        };
        if to > self.text.len() {
            return None;
        }
        let (x, y) = (self.text.slice(a, b), self.text.slice(from, to));
        let same = if fold {
            x.iter().zip(y.iter()).all(|(p, q)| {
                canonicalize(u32::from(p), self.unicode) == canonicalize(u32::from(q), self.unicode)
            })
        } else {
            x.same(y)
        };
        same.then_some(if back { from } else { to })
    }

    /// The last way left to try, with everything undone that was done since.
    fn backtrack(&mut self, base: usize) -> Option<(u32, usize)> {
        while self.stack.len() > base {
            match self.stack.pop()? {
                Back::Try { pc, at } => return Some((pc, at)),
                Back::Group { slot, old } => self.groups[slot as usize] = old,
                Back::Counter { slot, old } => self.counters[slot as usize] = old,
                Back::Shrink { pc, at, least } => {
                    let Some((_, to)) = self.step(at, true) else {
                        continue;
                    };
                    if to > least {
                        self.stack.push(Back::Shrink { pc, at: to, least });
                    }
                    return Some((pc, to));
                }
                Back::Grow { pc, set, at, more } => {
                    if let Some((x, to)) = self.step(at, false)
                        && self.regex.sets[set as usize].contains(x)
                    {
                        if more > 1 {
                            self.stack.push(Back::Grow {
                                pc,
                                set,
                                at: to,
                                more: more - 1,
                            });
                        }
                        return Some((pc, to));
                    }
                }
            }
        }
        None
    }
}

//! From the parsed pattern to the matcher's instructions. Inside a look-behind everything runs backwards.

use super::charset::{CharSet, canonicalize};
use super::parser::{Node, Parsed};
use super::{Flags, Regex};

/// One instruction of the matcher.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inst {
    Match,
    Char {
        c: u32,
        back: bool,
    },
    CharFolded {
        c: u32,
        back: bool,
    },
    Set {
        set: u32,
        back: bool,
    },
    SetFolded {
        set: u32,
        back: bool,
    },
    Jump(u32),
    /// Tries the first way, then the second.
    Split {
        first: u32,
        second: u32,
    },
    Save(u32),
    ResetGroups {
        from: u32,
        to: u32,
    },
    LineStart {
        multiline: bool,
    },
    LineEnd {
        multiline: bool,
    },
    WordEdge {
        negative: bool,
    },
    BackRef {
        list: u32,
        fold: bool,
        back: bool,
    },
    Look {
        negative: bool,
        end: u32,
    },
    /// A counted loop begins.
    LoopStart {
        counter: u32,
    },
    /// Another round or out, by the counter.
    Loop {
        counter: u32,
        min: u32,
        bounds: u32,
        greedy: bool,
    },
    /// A round that matched nothing ends the attempt.
    LoopEnd {
        counter: u32,
        start: u32,
        min: u32,
    },
    /// A run of one set, given back one by one.
    Run {
        set: u32,
        min: u32,
        max: u32,
        greedy: bool,
    },
}

/// Instructions beyond this make the pattern too large.
const SIZE_LIMIT: usize = 100_000;

struct Builder {
    code: Vec<Inst>,
    sets: Vec<CharSet>,
    lists: Vec<Vec<usize>>,
    bounds: Vec<(u32, u32)>,
    counters: u32,
    unicode: bool,
}

pub(crate) fn compile(parsed: Parsed, flags: Flags) -> Result<Regex, String> {
    let mut b = Builder {
        code: Vec::new(),
        sets: Vec::new(),
        lists: Vec::new(),
        bounds: Vec::new(),
        counters: 0,
        unicode: flags.by_code_point(),
    };
    b.code.push(Inst::Save(0));
    b.node(&parsed.node, false)?;
    b.code.push(Inst::Save(1));
    b.code.push(Inst::Match);
    let first = first_set(&parsed.node);
    Ok(Regex {
        flags,
        groups: parsed.groups,
        names: parsed.names,
        code: b.code,
        sets: b.sets,
        counters: b.counters as usize,
        lists: b.lists,
        bounds: b.bounds,
        first,
    })
}

impl Builder {
    fn node(&mut self, node: &Node, back: bool) -> Result<(), String> {
        if self.code.len() > SIZE_LIMIT {
            return Err("Pattern is too large".to_owned());
        }
        match node {
            Node::Empty => {}
            Node::Char { c, fold: false } => self.code.push(Inst::Char { c: *c, back }),
            Node::Char { c, fold: true } => {
                let c = canonicalize(*c, self.unicode);
                self.code.push(Inst::CharFolded { c, back });
            }
            Node::Set { set, fold } => {
                let set = self.set(set);
                self.code.push(if *fold {
                    Inst::SetFolded { set, back }
                } else {
                    Inst::Set { set, back }
                });
            }
            Node::Seq(list) if back => list.iter().rev().try_for_each(|n| self.node(n, back))?,
            Node::Seq(list) => list.iter().try_for_each(|n| self.node(n, back))?,
            Node::Alt(list) => self.alternatives(list, back)?,
            Node::Group {
                node,
                capture: None,
            } => self.node(node, back)?,
            Node::Group {
                node,
                capture: Some(number),
            } => {
                let (open, close) = (2 * *number as u32, 2 * *number as u32 + 1);
                self.code.push(Inst::Save(if back { close } else { open }));
                self.node(node, back)?;
                self.code.push(Inst::Save(if back { open } else { close }));
            }
            Node::BackRef { groups, fold } => {
                self.lists.push(groups.clone());
                self.code.push(Inst::BackRef {
                    list: self.lists.len() as u32 - 1,
                    fold: *fold,
                    back,
                });
            }
            Node::Look {
                node,
                ahead,
                negative,
            } => {
                let at = self.code.len();
                self.code.push(Inst::Match);
                self.node(node, !ahead)?;
                self.code.push(Inst::Match);
                self.code[at] = Inst::Look {
                    negative: *negative,
                    end: self.code.len() as u32,
                };
            }
            Node::LineStart { multiline } => self.code.push(Inst::LineStart {
                multiline: *multiline,
            }),
            Node::LineEnd { multiline } => self.code.push(Inst::LineEnd {
                multiline: *multiline,
            }),
            Node::WordEdge { negative } => self.code.push(Inst::WordEdge {
                negative: *negative,
            }),
            Node::Repeat {
                node,
                min,
                max,
                greedy,
                captures,
            } => {
                self.repeat(node, (*min, *max), *greedy, *captures, back)?;
            }
        }
        Ok(())
    }

    fn set(&mut self, set: &CharSet) -> u32 {
        self.sets.push(set.clone());
        self.sets.len() as u32 - 1
    }

    fn alternatives(&mut self, list: &[Node], back: bool) -> Result<(), String> {
        let mut ends = Vec::new();
        for (at, node) in list.iter().enumerate() {
            if at + 1 == list.len() {
                self.node(node, back)?;
                break;
            }
            let split = self.code.len();
            self.code.push(Inst::Match);
            self.node(node, back)?;
            ends.push(self.code.len());
            self.code.push(Inst::Match);
            self.code[split] = Inst::Split {
                first: split as u32 + 1,
                second: self.code.len() as u32,
            };
        }
        for end in ends {
            self.code[end] = Inst::Jump(self.code.len() as u32);
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        node: &Node,
        (min, max): (u32, u32),
        greedy: bool,
        captures: (usize, usize),
        back: bool,
    ) -> Result<(), String> {
        if max == 0 {
            return Ok(());
        }
        let single = match node {
            Node::Char { c, fold: false } => Some(CharSet::new(vec![(*c, *c)])),
            Node::Set { set, fold: false } => Some(set.clone()),
            _ => None,
        };
        if let (Some(set), false) = (&single, back) {
            let set = self.set(set);
            self.code.push(Inst::Run {
                set,
                min,
                max,
                greedy,
            });
            return Ok(());
        }
        let counter = self.counters;
        self.counters += 2;
        self.code.push(Inst::LoopStart { counter });
        let head = self.code.len();
        self.code.push(Inst::Match);
        if captures.0 < captures.1 {
            self.code.push(Inst::ResetGroups {
                from: captures.0 as u32,
                to: captures.1 as u32,
            });
        }
        self.node(node, back)?;
        self.code.push(Inst::LoopEnd {
            counter,
            start: head as u32,
            min,
        });
        self.bounds.push((max, self.code.len() as u32));
        self.code[head] = Inst::Loop {
            counter,
            min,
            bounds: self.bounds.len() as u32 - 1,
            greedy,
        };
        Ok(())
    }
}

/// The low units that can start a match, when the pattern must consume one first.
fn first_set(node: &Node) -> Option<[bool; 256]> {
    let mut table = [false; 256];
    let mut add = |set: &CharSet| {
        for (c, slot) in table.iter_mut().enumerate() {
            *slot |= set.contains(c as u32);
        }
    };
    collect_first(node, &mut add).then_some(table)
}

/// Adds what can come first; false when the node may match nothing, or isn't simple enough.
fn collect_first(node: &Node, add: &mut dyn FnMut(&CharSet)) -> bool {
    match node {
        Node::Char { c, fold: false } => {
            add(&CharSet::new(vec![(*c, *c)]));
            true
        }
        Node::Set { set, fold: false } => {
            add(set);
            true
        }
        Node::Seq(list) => list.first().is_some_and(|n| match n {
            Node::WordEdge { .. } => list.get(1).is_some_and(|n| collect_first(n, add)),
            _ => collect_first(n, add),
        }),
        Node::Alt(list) => list.iter().all(|n| collect_first(n, add)),
        Node::Group { node, .. } => collect_first(node, add),
        Node::Repeat { node, min, .. } if *min > 0 => collect_first(node, add),
        _ => false,
    }
}

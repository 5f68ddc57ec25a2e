//! The compiled form of a program: its functions and what they share.

use crate::op::{Op, Reg};
use crate::text::Text;
use crate::value::Key;
use num_bigint::BigInt;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a protected range does when something is thrown inside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handler {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) target: u32,
    /// Register that receives the thrown value.
    pub(crate) reg: Reg,
}

/// Where a closure finds a captured variable when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    Register(Reg),
    Upvalue(u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FuncKind {
    Normal,
    Arrow,
    Method,
    ClassConstructor,
    DerivedConstructor,
}

/// One compiled function.
#[derive(Debug)]
pub(crate) struct Func {
    pub(crate) name: Key,
    pub(crate) kind: FuncKind,
    pub(crate) is_async: bool,
    pub(crate) is_generator: bool,
    pub(crate) needs_args: bool,
    /// A derived constructor with arrow functions inside: `this` comes into being after them, so it lives in a cell.
    pub(crate) shares_this: bool,
    pub(crate) params: u16,
    pub(crate) length: u16,
    pub(crate) regs: u16,
    pub(crate) code: Vec<Op>,
    /// Where the function stands in the source; empty when it stands in no program text.
    pub(crate) source: (u32, u32),
    /// Instruction to source offset, ascending.
    pub(crate) spans: Vec<(u32, u32)>,
    /// Ends of the callees of call instructions in the source.
    pub(crate) callees: Vec<(u32, u32)>,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) captures: Vec<Capture>,
    pub(crate) sites: Vec<Key>,
    pub(crate) site_base: u32,
}

impl Func {
    /// Source offset of the instruction at `pc`.
    pub(crate) fn span_at(&self, pc: u32) -> u32 {
        let after = self.spans.partition_point(|&(at, _)| at <= pc);
        if after == 0 {
            0
        } else {
            self.spans[after - 1].1
        }
    }
}

/// A fault known when compiling that is raised only when reached.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Unsupported {
        node: &'static str,
        advice: &'static str,
    },
    ConstAssign(Key),
    BadTarget(&'static str),
}

/// The strings of one template site.
#[derive(Debug)]
pub(crate) struct TemplateSite {
    pub(crate) cooked: Vec<Option<Key>>,
    pub(crate) raw: Vec<Key>,
}

/// A compiled program, shared by all its runs.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) funcs: Vec<Func>,
    pub(crate) nums: Vec<f64>,
    pub(crate) bigs: Vec<BigInt>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) regexes: Vec<(Key, Key, Arc<crate::regex::Regex>)>,
    pub(crate) templates: Vec<TemplateSite>,
    /// Strings interned after the built-in ones.
    pub(crate) atoms: Vec<Text>,
    pub(crate) atom_map: FxHashMap<Text, u32>,
    pub(crate) sites: u32,
    /// Names that nothing in the program declares, with their places.
    pub(crate) free_names: Vec<(String, u32)>,
    /// The submitted source.
    pub(crate) source: String,
    /// Whether `print` is there.
    pub(crate) print: bool,
}

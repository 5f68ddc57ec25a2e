//! Sets of code points and the case rules of matching.

/// A set of code points as sorted, disjoint, inclusive ranges, with a bitmap of the first 256.
#[derive(Clone, Debug, Default)]
pub(crate) struct CharSet {
    pub(crate) ranges: Vec<(u32, u32)>,
    low: [u64; 4],
}

impl CharSet {
    pub(crate) fn new(mut ranges: Vec<(u32, u32)>) -> CharSet {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (a, b) in ranges {
            match merged.last_mut() {
                Some(last) if a <= last.1.saturating_add(1) => last.1 = last.1.max(b),
                _ => merged.push((a, b)),
            }
        }
        let mut set = CharSet {
            ranges: merged,
            low: [0; 4],
        };
        for c in 0..256u32 {
            if set.search(c) {
                set.low[(c / 64) as usize] |= 1 << (c % 64);
            }
        }
        set
    }

    pub(crate) fn contains(&self, c: u32) -> bool {
        if c < 256 {
            self.low[(c / 64) as usize] >> (c % 64) & 1 != 0
        } else {
            self.search(c)
        }
    }

    fn search(&self, c: u32) -> bool {
        let after = self.ranges.partition_point(|&(a, _)| a <= c);
        after > 0 && self.ranges[after - 1].1 >= c
    }

    pub(crate) fn negate(&self) -> CharSet {
        let mut out = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(a, b) in &self.ranges {
            if a > next {
                out.push((next, a - 1));
            }
            next = b + 1;
        }
        if next <= 0x10_FFFF {
            out.push((next, 0x10_FFFF));
        }
        CharSet::new(out)
    }

    pub(crate) fn union(&self, other: &CharSet) -> CharSet {
        CharSet::new(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    pub(crate) fn intersect(&self, other: &CharSet) -> CharSet {
        self.negate().union(&other.negate()).negate()
    }

    pub(crate) fn subtract(&self, other: &CharSet) -> CharSet {
        self.intersect(&other.negate())
    }
}

/// `Canonicalize` of ECMA-262 22.2.2.7.3, with the simple mappings of single characters.
pub(crate) fn canonicalize(c: u32, by_code_point: bool) -> u32 {
    if c < 128 {
        let byte = c as u8;
        return u32::from(if by_code_point {
            byte.to_ascii_lowercase()
        } else {
            byte.to_ascii_uppercase()
        });
    }
    let Some(ch) = char::from_u32(c) else {
        return c;
    };
    let single = |mut it: Box<dyn Iterator<Item = char>>| match (it.next(), it.next()) {
        (Some(one), None) => Some(one as u32),
        _ => None,
    };
    if by_code_point {
        let upper = single(Box::new(ch.to_uppercase()))
            .and_then(char::from_u32)
            .unwrap_or(ch);
        return single(Box::new(upper.to_lowercase())).unwrap_or(c);
    }
    match single(Box::new(ch.to_uppercase())) {
        Some(upper) if upper >= 128 => upper,
        _ => c,
    }
}

/// Membership without regard to case.
pub(crate) fn contains_folded(set: &CharSet, c: u32, by_code_point: bool) -> bool {
    if set.contains(c) {
        return true;
    }
    let folded = canonicalize(c, by_code_point);
    if set.contains(folded) {
        return true;
    }
    let Some(ch) = char::from_u32(c) else {
        return false;
    };
    ch.to_lowercase()
        .chain(ch.to_uppercase())
        .any(|o| canonicalize(o as u32, by_code_point) == folded && set.contains(o as u32))
}

pub(crate) fn digits() -> CharSet {
    CharSet::new(vec![(48, 57)])
}

pub(crate) fn word() -> CharSet {
    CharSet::new(vec![(48, 57), (65, 90), (95, 95), (97, 122)])
}

pub(crate) fn space() -> CharSet {
    CharSet::new(vec![
        (9, 13),
        (32, 32),
        (0xA0, 0xA0),
        (0x1680, 0x1680),
        (0x2000, 0x200A),
        (0x2028, 0x2029),
        (0x202F, 0x202F),
        (0x205F, 0x205F),
        (0x3000, 0x3000),
        (0xFEFF, 0xFEFF),
    ])
}

/// Everything but line terminators.
pub(crate) fn dot() -> CharSet {
    CharSet::new(vec![(10, 10), (13, 13), (0x2028, 0x2029)]).negate()
}

/// The set of a Unicode property expression such as `Lu`, `Script=Greek` or `Emoji`.
pub(crate) fn property(expression: &str) -> Option<CharSet> {
    use regex_syntax::hir::{Class, HirKind};
    let valid = expression
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'=');
    if !valid || expression.is_empty() {
        return None;
    }
    let expression = match expression.split_once('=') {
        Some(("Script" | "sc" | "Script_Extensions" | "scx", value)) => format!("scx={value}"),
        Some(("General_Category" | "gc", value)) => format!("gc={value}"),
        Some(_) => return None,
        None => expression.to_owned(),
    };
    let hir = regex_syntax::Parser::new()
        .parse(&format!("\\p{{{expression}}}"))
        .ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => Some(CharSet::new(
            class
                .ranges()
                .iter()
                .map(|r| (r.start() as u32, r.end() as u32))
                .collect(),
        )),
        HirKind::Class(Class::Bytes(class)) => Some(CharSet::new(
            class
                .ranges()
                .iter()
                .map(|r| (u32::from(r.start()), u32::from(r.end())))
                .collect(),
        )),
        _ => None,
    }
}

//! Text as ECMAScript sees it: a sequence of 16-bit code units, kept in one byte a unit when every unit fits.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// Owned text. `Wide` holds at least one unit above 0xFF, so that equal texts have equal representations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// Latin-1, one byte a unit.
    Narrow(Box<[u8]>),
    /// UTF-16, possibly with lone surrogates.
    Wide(Box<[u16]>),
}

/// A view of text in either width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Units<'a> {
    Narrow(&'a [u8]),
    Wide(&'a [u16]),
}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Text::Narrow(bytes) => state.write(bytes),
            Text::Wide(units) => units.hash(state),
        }
    }
}

impl Text {
    pub(crate) fn new(source: &str) -> Text {
        if source.is_ascii() {
            return Text::Narrow(source.as_bytes().into());
        }
        Text::from_units(source.encode_utf16().collect())
    }

    /// Takes code units and narrows them when possible.
    pub(crate) fn from_units(units: Vec<u16>) -> Text {
        if units.iter().all(|&u| u <= 0xFF) {
            Text::Narrow(units.iter().map(|&u| u as u8).collect())
        } else {
            Text::Wide(units.into())
        }
    }

    pub(crate) fn units(&self) -> Units<'_> {
        match self {
            Text::Narrow(b) => Units::Narrow(b),
            Text::Wide(w) => Units::Wide(w),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.units().len()
    }

    /// Heap bytes that the text occupies.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Text::Narrow(b) => b.len(),
            Text::Wide(w) => w.len() * 2,
        }
    }
}

impl<'a> Units<'a> {
    pub(crate) fn len(self) -> usize {
        match self {
            Units::Narrow(b) => b.len(),
            Units::Wide(w) => w.len(),
        }
    }

    /// A hash for tables of this process.
    pub(crate) fn hash(self) -> u64 {
        let step = |h: u64, unit: u16| {
            (h.rotate_left(5) ^ u64::from(unit)).wrapping_mul(0x517C_C1B7_2722_0A95)
        };
        let hash = match self {
            Units::Narrow(bytes) => bytes.iter().fold(0, |h, &b| step(h, u16::from(b))),
            Units::Wide(units) => units.iter().fold(0, |h, &u| step(h, u)),
        };
        hash ^ (hash >> 32)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub(crate) fn at(self, index: usize) -> u16 {
        match self {
            Units::Narrow(b) => u16::from(b[index]),
            Units::Wide(w) => w[index],
        }
    }

    pub(crate) fn get(self, index: usize) -> Option<u16> {
        match self {
            Units::Narrow(b) => b.get(index).map(|&u| u16::from(u)),
            Units::Wide(w) => w.get(index).copied(),
        }
    }

    /// The code point at `index` and its length in units; a lone surrogate is its own code point.
    pub(crate) fn code_point(self, index: usize) -> (u32, usize) {
        let first = u32::from(self.at(index));
        if (0xD800..0xDC00).contains(&first)
            && let Some(second) = self.get(index + 1)
            && (0xDC00..0xE000).contains(&second)
        {
            return (
                0x10000 + ((first - 0xD800) << 10) + (u32::from(second) - 0xDC00),
                2,
            );
        }
        (first, 1)
    }

    pub(crate) fn slice(self, start: usize, end: usize) -> Units<'a> {
        match self {
            Units::Narrow(b) => Units::Narrow(&b[start..end]),
            Units::Wide(w) => Units::Wide(&w[start..end]),
        }
    }

    pub(crate) fn to_text(self) -> Text {
        match self {
            Units::Narrow(b) => Text::Narrow(b.into()),
            Units::Wide(w) => {
                if w.iter().all(|&u| u <= 0xFF) {
                    Text::Narrow(w.iter().map(|&u| u as u8).collect())
                } else {
                    Text::Wide(w.into())
                }
            }
        }
    }

    pub(crate) fn to_vec(self) -> Vec<u16> {
        match self {
            Units::Narrow(b) => b.iter().map(|&u| u16::from(u)).collect(),
            Units::Wide(w) => w.to_vec(),
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u16> + 'a {
        (0..self.len()).map(move |i| self.at(i))
    }

    pub(crate) fn push_to(self, out: &mut Vec<u16>) {
        match self {
            Units::Narrow(b) => out.extend(b.iter().map(|&u| u16::from(u))),
            Units::Wide(w) => out.extend_from_slice(w),
        }
    }

    /// UTF-8; lone surrogates become U+FFFD.
    pub(crate) fn to_utf8(self) -> String {
        match self {
            Units::Narrow(b) => {
                if b.is_ascii() {
                    String::from_utf8_lossy(b).into_owned()
                } else {
                    b.iter().map(|&u| u as char).collect()
                }
            }
            Units::Wide(w) => String::from_utf16_lossy(w),
        }
    }

    pub(crate) fn same(self, other: Units<'_>) -> bool {
        match (self, other) {
            (Units::Narrow(a), Units::Narrow(b)) => a == b,
            (Units::Wide(a), Units::Wide(b)) => a == b,
            (a, b) => a.len() == b.len() && a.iter().eq(b.iter()),
        }
    }

    pub(crate) fn is(self, ascii: &str) -> bool {
        self.same(Units::Narrow(ascii.as_bytes()))
    }

    pub(crate) fn compare(self, other: Units<'_>) -> Ordering {
        match (self, other) {
            (Units::Narrow(a), Units::Narrow(b)) => a.cmp(b),
            (a, b) => a.iter().cmp(b.iter()),
        }
    }

    /// First index at or after `from` where `needle` occurs.
    pub(crate) fn find(self, needle: Units<'_>, from: usize) -> Option<usize> {
        let (n, m) = (self.len(), needle.len());
        if from > n || m > n - from {
            return None;
        }
        if m == 0 {
            return Some(from);
        }
        if let (Units::Narrow(h), Units::Narrow(p)) = (self, needle) {
            return find_bytes(&h[from..], p).map(|at| at + from);
        }
        let first = needle.at(0);
        (from..=n - m).find(|&at| self.at(at) == first && self.slice(at, at + m).same(needle))
    }

    /// Last index at or before `from` where `needle` occurs.
    pub(crate) fn rfind(self, needle: Units<'_>, from: usize) -> Option<usize> {
        let (n, m) = (self.len(), needle.len());
        if m > n {
            return None;
        }
        let last = from.min(n - m);
        (0..=last)
            .rev()
            .find(|&at| self.slice(at, at + m).same(needle))
    }

    /// White space and line ends cut from the chosen sides (ECMA-262 TrimString).
    pub(crate) fn trim(self, start: bool, end: bool) -> Units<'a> {
        let (mut a, mut b) = (0, self.len());
        while start && a < b && is_space(self.at(a)) {
            a += 1;
        }
        while end && b > a && is_space(self.at(b - 1)) {
            b -= 1;
        }
        self.slice(a, b)
    }
}

/// Finds `needle` (not empty) in `hay`, hunting for its first byte.
fn find_bytes(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let last = hay.len().checked_sub(needle.len())?;
    let mut at = 0;
    while at <= last {
        let skip = hay[at..=last].iter().position(|&b| b == needle[0])?;
        at += skip;
        if &hay[at..at + needle.len()] == needle {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// `WhiteSpace` or `LineTerminator` of ECMA-262.
pub(crate) fn is_space(unit: u16) -> bool {
    matches!(unit, 9..=13 | 32 | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000 | 0xFEFF)
}

/// Pushes a code point as one or two units.
pub(crate) fn push_code_point(out: &mut Vec<u16>, code: u32) {
    if code >= 0x10000 {
        out.push(0xD800 + ((code - 0x10000) >> 10) as u16);
        out.push(0xDC00 + ((code - 0x10000) & 0x3FF) as u16);
    } else {
        out.push(code as u16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_fit_a_byte_are_kept_narrow() {
        assert!(matches!(Text::new("caf\u{e9}"), Text::Narrow(_)));
        assert!(matches!(Text::new("\u{20ac}"), Text::Wide(_)));
        assert_eq!(
            Text::new("a\u{20ac}").units().slice(0, 1).to_text(),
            Text::new("a")
        );
    }

    #[test]
    fn finding_looks_from_both_ends() {
        let text = Text::new("abcabc");
        let needle = Text::new("bc");
        assert_eq!(text.units().find(needle.units(), 2), Some(4));
        assert_eq!(text.units().rfind(needle.units(), 3), Some(1));
        assert_eq!(text.units().find(Text::new("").units(), 6), Some(6));
    }
}

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

/// The names of ECMA-262's tables 67 and 68, as they have to be written.
const BINARY: &str = "ASCII ASCII_Hex_Digit AHex Alphabetic Alpha Any Assigned Bidi_Control Bidi_C Bidi_Mirrored Bidi_M \
Case_Ignorable CI Cased Changes_When_Casefolded CWCF Changes_When_Casemapped CWCM Changes_When_Lowercased CWL \
Changes_When_NFKC_Casefolded CWKCF Changes_When_Titlecased CWT Changes_When_Uppercased CWU Dash \
Default_Ignorable_Code_Point DI Deprecated Dep Diacritic Dia Emoji Emoji_Component EComp Emoji_Modifier EMod \
Emoji_Modifier_Base EBase Emoji_Presentation EPres Extended_Pictographic ExtPict Extender Ext Grapheme_Base Gr_Base \
Grapheme_Extend Gr_Ext Hex_Digit Hex IDS_Binary_Operator IDSB IDS_Trinary_Operator IDST ID_Continue IDC ID_Start IDS \
Ideographic Ideo Join_Control Join_C Logical_Order_Exception LOE Lowercase Lower Math Noncharacter_Code_Point NChar \
Pattern_Syntax Pat_Syn Pattern_White_Space Pat_WS Quotation_Mark QMark Radical Regional_Indicator RI \
Sentence_Terminal STerm Soft_Dotted SD Terminal_Punctuation Term Unified_Ideograph UIdeo Uppercase Upper \
Variation_Selector VS White_Space space XID_Continue XIDC XID_Start XIDS";

/// Values of `General_Category`, as they have to be written.
const CATEGORIES: &str = "Cased_Letter LC Close_Punctuation Pe Connector_Punctuation Pc Control Cc cntrl \
Currency_Symbol Sc Dash_Punctuation Pd Decimal_Number Nd digit Enclosing_Mark Me Final_Punctuation Pf Format Cf \
Initial_Punctuation Pi Letter L Letter_Number Nl Line_Separator Zl Lowercase_Letter Ll Mark M Combining_Mark Math_Symbol \
Sm Modifier_Letter Lm Modifier_Symbol Sk Nonspacing_Mark Mn Number N Open_Punctuation Ps Other C Other_Letter Lo \
Other_Number No Other_Punctuation Po Other_Symbol So Paragraph_Separator Zp Private_Use Co Punctuation P punct \
Separator Z Space_Separator Zs Spacing_Mark Mc Surrogate Cs Symbol S Titlecase_Letter Lt Unassigned Cn Uppercase_Letter \
Lu";

/// Whether a script's name is written as Unicode writes it: capitalised words joined by low lines.
fn is_script_name(name: &str) -> bool {
    let word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.len() > 1
            && word[1..].bytes().all(|b| b.is_ascii_lowercase())
    };
    name == "SignWriting" || name.split('_').all(word)
}

/// The set of a Unicode property expression such as `Lu`, `Script=Greek` or `Emoji`.
pub(crate) fn property(expression: &str) -> Option<CharSet> {
    use regex_syntax::hir::{Class, HirKind};
    let listed = |list: &str, name: &str| list.split_ascii_whitespace().any(|known| known == name);
    let expression = match expression.split_once('=') {
        Some(("Script" | "sc", value)) if is_script_name(value) => format!("sc={value}"),
        Some(("Script_Extensions" | "scx", value)) if is_script_name(value) => {
            format!("scx={value}")
        }
        Some(("General_Category" | "gc", value)) if listed(CATEGORIES, value) => category(value),
        Some(_) => return None,
        None if listed(CATEGORIES, expression) => category(expression),
        None if listed(BINARY, expression) => expression.to_owned(),
        None => return None,
    };
    if expression == "gc=Surrogate" {
        return Some(CharSet::new(vec![(0xD800, 0xDFFF)]));
    }
    let hir = regex_syntax::Parser::new()
        .parse(&format!("\\p{{{expression}}}"))
        .ok()?;
    let mut set = match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            let ranges = class.ranges().iter();
            CharSet::new(ranges.map(|r| (r.start() as u32, r.end() as u32)).collect())
        }
        HirKind::Class(Class::Bytes(class)) => {
            let ranges = class.ranges().iter();
            CharSet::new(
                ranges
                    .map(|r| (u32::from(r.start()), u32::from(r.end())))
                    .collect(),
            )
        }
        HirKind::Literal(literal) => {
            let c = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
            CharSet::new(vec![(c as u32, c as u32)])
        }
        _ => return None,
    };
    // Rust's characters leave out the surrogates, which these contain.
    if matches!(
        expression.as_str(),
        "Any" | "Assigned" | "gc=Other" | "gc=C"
    ) {
        set = set.union(&CharSet::new(vec![(0xD800, 0xDFFF)]));
    }
    Some(set)
}

/// A category in the form that the tables are asked in.
fn category(value: &str) -> String {
    match value {
        "Surrogate" | "Cs" => "gc=Surrogate".to_owned(),
        value => format!("gc={value}"),
    }
}

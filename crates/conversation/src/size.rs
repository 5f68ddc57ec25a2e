//! How large a text is to a model.

use std::ops::{Add, AddAssign, SubAssign};

/// The share of a context window that a prompt may fill, as a fraction; the rest is for the reply and for the
/// error of the estimate.
const WINDOW_SHARE: (u64, u64) = (3, 4);

/// Size of a text in characters and, roughly, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    /// Unicode scalar values.
    pub(crate) chars: usize,
    /// Quarters of a token. A tokeniser's vocabulary is made mostly of English: about four ASCII characters
    /// share a token, two of the scripts that UTF-8 writes in two bytes, and one is a token of its own beyond.
    quarter_tokens: usize,
}

impl Size {
    /// Measures `text`.
    pub(crate) fn of(text: &str) -> Self {
        let quarters = |byte: u8| match byte {
            0..0x80 => 1,
            0x80..0xC0 => 0,
            0xC0..0xE0 => 2,
            _ => 4,
        };
        Self {
            chars: text.chars().count(),
            quarter_tokens: text.bytes().map(quarters).sum(),
        }
    }

    /// About how many tokens.
    pub(crate) fn tokens(self) -> usize {
        self.quarter_tokens.div_ceil(4)
    }

    fn less(self, other: Self) -> Self {
        Self {
            chars: self.chars.saturating_sub(other.chars),
            quarter_tokens: self.quarter_tokens.saturating_sub(other.quarter_tokens),
        }
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            chars: self.chars + other.chars,
            quarter_tokens: self.quarter_tokens + other.quarter_tokens,
        }
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Size {
    fn sub_assign(&mut self, other: Self) {
        *self = self.less(other);
    }
}

/// The most that a prompt may measure: so many characters, and so many tokens where the window is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    limit: Size,
}

impl Budget {
    /// From a limit in characters and the size of the model's window in tokens, where known.
    pub(crate) fn new(soft_limit_chars: usize, context_window_tokens: Option<u64>) -> Self {
        let quarter_tokens = context_window_tokens.map_or(usize::MAX, |window| {
            let tokens = window / WINDOW_SHARE.1 * WINDOW_SHARE.0;
            usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
        });
        Self {
            limit: Size {
                chars: soft_limit_chars,
                quarter_tokens,
            },
        }
    }

    /// What is left of it beside `fixed`.
    pub(crate) fn beside(self, fixed: Size) -> Self {
        Self {
            limit: self.limit.less(fixed),
        }
    }

    /// Half of it.
    pub(crate) fn halved(self) -> Self {
        Self {
            limit: Size {
                chars: self.limit.chars / 2,
                quarter_tokens: self.limit.quarter_tokens / 2,
            },
        }
    }

    /// Whether `size` is more than it allows.
    pub(crate) fn is_exceeded_by(self, size: Size) -> bool {
        size.chars > self.limit.chars || size.quarter_tokens > self.limit.quarter_tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_measured_in_characters_and_by_its_script_in_tokens() {
        let measured = |text| (Size::of(text).chars, Size::of(text).tokens());
        assert_eq!(measured(""), (0, 0));
        assert_eq!(measured("eight ch"), (8, 2));
        assert_eq!(measured("привет"), (6, 3));
        assert_eq!(measured("漢字🙂"), (3, 3));
    }

    #[test]
    fn a_known_window_limits_beside_the_characters() {
        let text = Size::of(&"word ".repeat(1000));
        assert!(!Budget::new(5000, None).is_exceeded_by(text));
        assert!(Budget::new(4999, None).is_exceeded_by(text));
        assert!(Budget::new(5000, Some(1600)).is_exceeded_by(text));
        assert!(!Budget::new(5000, Some(1668)).is_exceeded_by(text));
    }
}

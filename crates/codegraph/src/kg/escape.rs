//! Percent-escapes for names, and stand-ins for bytes that are no UTF-8.

use std::borrow::Cow;

/// Where the stand-ins for bytes begin: the last 256 code points of Unicode, all for private use.
const STAND_INS: u32 = 0x0010_FF00;

/// The character that stands for a byte of a file name that is no UTF-8.
///
/// File names are text everywhere in this crate. A name that isn't UTF-8 keeps each invalid byte as such a character,
/// and becomes `%XX` in a file.
#[must_use]
pub fn byte_stand_in(byte: u8) -> char {
    char::from_u32(STAND_INS + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn stood_for(c: char) -> Option<u8> {
    (u32::from(c))
        .checked_sub(STAND_INS)
        .and_then(|byte| u8::try_from(byte).ok())
        .filter(|byte| *byte >= 0x80)
}

/// Escapes a name, kind or module: `%`, `|` and line breaks.
#[must_use]
pub fn escape_name(name: &str) -> Cow<'_, str> {
    escape(name, false)
}

/// Escapes a name of a comma list: `,` and `:` as well.
#[must_use]
pub(super) fn escape_item(name: &str) -> Cow<'_, str> {
    escape(name, true)
}

fn escape(name: &str, in_list: bool) -> Cow<'_, str> {
    let special =
        |c: char| matches!(c, '%' | '|' | '\n' | '\r') || (in_list && matches!(c, ',' | ':'));
    if !name.contains(|c| special(c) || stood_for(c).is_some()) {
        return Cow::Borrowed(name);
    }
    let mut escaped = String::with_capacity(name.len() + 8);
    for c in name.chars() {
        let byte = if special(c) {
            u8::try_from(c).ok()
        } else {
            stood_for(c)
        };
        match byte {
            Some(byte) => {
                escaped.push('%');
                escaped.push(
                    char::from_digit(u32::from(byte >> 4), 16)
                        .unwrap_or('0')
                        .to_ascii_uppercase(),
                );
                escaped.push(
                    char::from_digit(u32::from(byte & 15), 16)
                        .unwrap_or('0')
                        .to_ascii_uppercase(),
                );
            }
            None => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Takes the escapes back. A `%` that starts none of them stays, as hand-written files may hold it.
#[must_use]
pub fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let digits = rest
            .get(1..3)
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte @ (b'%' | b'|' | b'\n' | b'\r' | b',' | b':')) => {
                plain.push(char::from(byte));
            }
            Some(byte) if byte >= 0x80 => plain.push(byte_stand_in(byte)),
            _ => {
                plain.push('%');
                rest = &rest[1..];
                continue;
            }
        }
        rest = &rest[3..];
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exactly_the_named_characters_are_escaped() {
        assert_eq!(escape_name("a|b%c\nd\re,f:g"), "a%7Cb%25c%0Ad%0De,f:g");
        assert_eq!(escape_item("a,b:c"), "a%2Cb%3Ac");
        assert_eq!(escape_name("plain-ü\\x"), "plain-ü\\x");
        assert_eq!(escape_name(&format!("x{}", byte_stand_in(0xFF))), "x%FF");
    }

    #[test]
    fn a_percent_of_no_escape_stays() {
        assert_eq!(unescape("100%"), "100%");
        assert_eq!(unescape("%zz%41"), "%zz%41");
    }

    proptest! {
        #[test]
        fn any_name_survives(name in any::<String>(), byte in 0x80_u8..) {
            let name = format!("{name}{}", byte_stand_in(byte));
            let escaped = escape_name(&name);
            prop_assert!(!escaped.contains(['|', '\n', '\r']));
            prop_assert_eq!(unescape(&escaped), name.as_str());
            let escaped = escape_item(&name);
            prop_assert!(!escaped.contains(['|', '\n', '\r', ',', ':']));
            prop_assert_eq!(unescape(&escaped), name.as_str());
        }
    }
}

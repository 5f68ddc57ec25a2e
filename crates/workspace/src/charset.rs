//! What a file's bytes mean: its encoding, or that it isn't text.

use std::borrow::Cow;
use std::fmt;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use serde::{Serialize, Serializer};

/// How many bytes are looked at to tell text from other things.
const SNIFFED: usize = 8 * 1024;

/// The encoding of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8, with a byte order mark or without.
    Utf8 {
        /// Whether the file begins with the mark.
        bom: bool,
    },
    /// UTF-16.
    Utf16 {
        /// Whether the high byte comes first.
        big_endian: bool,
        /// Whether the file begins with the mark.
        bom: bool,
    },
    /// One of the older encodings of the web (WHATWG Encoding Standard), guessed from the bytes.
    Legacy(&'static Encoding),
}

impl fmt::Display for Charset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8 { bom: false } => f.write_str("utf-8"),
            Self::Utf8 { bom: true } => f.write_str("utf-8 with bom"),
            Self::Utf16 { big_endian, bom } => {
                let order = if *big_endian { "be" } else { "le" };
                let bom = if *bom { " with bom" } else { "" };
                write!(f, "utf-16{order}{bom}")
            }
            Self::Legacy(encoding) => f.write_str(&encoding.name().to_ascii_lowercase()),
        }
    }
}

impl Serialize for Charset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What the bytes are, as far as the beginning of them tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    Text(Charset),
    /// Not text; what it looks like.
    Binary(&'static str),
}

/// Beginnings of files that hold no text although they may lack a NUL byte early on.
const SIGNATURES: [(&[u8], &str); 8] = [
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"\x7fELF", "an ELF program"),
];

/// Looks at all of the bytes.
pub(crate) fn nature(bytes: &[u8]) -> Nature {
    let head = &bytes[..bytes.len().min(SNIFFED)];
    if let Some((_, what)) = SIGNATURES.iter().find(|(start, _)| head.starts_with(start)) {
        return Nature::Binary(what);
    }
    if head.starts_with(b"\xef\xbb\xbf") {
        return utf8_or_legacy(bytes, true);
    }
    if let Some(big_endian) = utf16_order(head) {
        let bom = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
        return Nature::Text(Charset::Utf16 { big_endian, bom });
    }
    if memchr::memchr(0, bytes).is_some() {
        return Nature::Binary("binary data");
    }
    utf8_or_legacy(bytes, false)
}

/// Whether the high byte comes first, if this is UTF-16 at all: by its mark, or because nearly every other byte,
/// and only every other, is zero.
fn utf16_order(head: &[u8]) -> Option<bool> {
    if head.starts_with(b"\xff\xfe") {
        return Some(false);
    }
    if head.starts_with(b"\xfe\xff") {
        return Some(true);
    }
    let pairs = head.len() / 2;
    if pairs < 2 {
        return None;
    }
    let zeros = |offset: usize| {
        let every_other = head[offset..].iter().step_by(2);
        every_other.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    let most = pairs * 7 / 10 + 1;
    match (even, odd) {
        (0, odd) if odd >= most => Some(false),
        (even, 0) if even >= most => Some(true),
        _ => None,
    }
}

fn utf8_or_legacy(bytes: &[u8], bom: bool) -> Nature {
    if std::str::from_utf8(bytes).is_ok() {
        return Nature::Text(Charset::Utf8 { bom });
    }
    if has_many_controls(&bytes[..bytes.len().min(SNIFFED)]) {
        return Nature::Binary("binary data");
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    Nature::Text(Charset::Legacy(detector.guess(None, Utf8Detection::Deny)))
}

/// No text has control characters other than white space and escape in more than one of a hundred places.
fn has_many_controls(head: &[u8]) -> bool {
    let odd = head
        .iter()
        .filter(|byte| matches!(byte, 1..=8 | 14..=26 | 28..=31 | 127))
        .count();
    odd * 100 > head.len()
}

impl Charset {
    /// The bytes as text, without the mark; and whether nothing was lost.
    pub(crate) fn decode(self, bytes: &[u8]) -> (Cow<'_, str>, bool) {
        match self {
            Self::Utf8 { .. } => {
                let bytes = &bytes[self.mark().len().min(bytes.len())..];
                // Whole text, the usual case, is checked faster than it is mended.
                let whole = std::str::from_utf8(bytes).ok().map(Cow::Borrowed);
                let text = whole
                    .clone()
                    .unwrap_or_else(|| String::from_utf8_lossy(bytes));
                let whole = whole.is_some();
                (text, whole)
            }
            Self::Utf16 { big_endian, .. } => {
                let bytes = &bytes[self.mark().len().min(bytes.len())..];
                let (text, whole) = decode_utf16(bytes, big_endian);
                (Cow::Owned(text), whole)
            }
            Self::Legacy(encoding) => {
                let (text, malformed) = encoding.decode_without_bom_handling(bytes);
                (text, !malformed)
            }
        }
    }

    /// The text as bytes, without a mark; none if a character has no place in the encoding, which is returned.
    pub(crate) fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, char> {
        match self {
            Self::Utf8 { .. } => Ok(Cow::Borrowed(text.as_bytes())),
            Self::Utf16 { big_endian, .. } => {
                let units = text.encode_utf16();
                let bytes = units.flat_map(|unit| {
                    if big_endian {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                });
                Ok(Cow::Owned(bytes.collect()))
            }
            Self::Legacy(encoding) => {
                let (bytes, used, unmappable) = encoding.encode(text);
                // Some labels are read in one encoding and written in another.
                if unmappable || (used != encoding && used != UTF_8) {
                    return Err(first_without_place(encoding, text));
                }
                Ok(bytes)
            }
        }
    }

    /// The byte order mark that the file begins with; empty if it has none.
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 { bom: true } => b"\xef\xbb\xbf",
            Self::Utf16 {
                big_endian: false,
                bom: true,
            } => b"\xff\xfe",
            Self::Utf16 {
                big_endian: true,
                bom: true,
            } => b"\xfe\xff",
            _ => b"",
        }
    }
}

fn first_without_place(encoding: &'static Encoding, text: &str) -> char {
    let mut buffer = [0; 4];
    text.chars()
        .find(|character| encoding.encode(character.encode_utf8(&mut buffer)).2)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn decode_utf16(bytes: &[u8], big_endian: bool) -> (String, bool) {
    let units = bytes.chunks_exact(2).map(|pair| {
        let pair = [pair[0], pair[1]];
        if big_endian {
            u16::from_be_bytes(pair)
        } else {
            u16::from_le_bytes(pair)
        }
    });
    let mut whole = bytes.len().is_multiple_of(2);
    let text = char::decode_utf16(units)
        .map(|unit| {
            unit.unwrap_or_else(|_| {
                whole = false;
                char::REPLACEMENT_CHARACTER
            })
        })
        .collect();
    (text, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charset_of(bytes: &[u8]) -> String {
        match nature(bytes) {
            Nature::Text(charset) => charset.to_string(),
            Nature::Binary(what) => what.to_owned(),
        }
    }

    #[test]
    fn encodings_are_told_apart() {
        let utf16 =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        assert_eq!(charset_of(b""), "utf-8");
        assert_eq!(charset_of("plain é 日本".as_bytes()), "utf-8");
        assert_eq!(charset_of(b"\xef\xbb\xbfx"), "utf-8 with bom");
        assert_eq!(charset_of(&utf16("int main() { return 0; }")), "utf-16le");
        assert_eq!(charset_of(b"\xfe\xff\0a"), "utf-16be with bom");
        assert_eq!(charset_of(b"\0a\0b\0c\0d"), "utf-16be");
        let sjis = encoding_rs::SHIFT_JIS
            .encode("日本語のテキストです。これは長い文章です。")
            .0;
        assert_eq!(charset_of(&sjis), "shift_jis");
        assert_eq!(
            charset_of(b"caf\xe9 au lait, cr\xe8me br\xfbl\xe9e"),
            "windows-1252"
        );
    }

    #[test]
    fn what_is_not_text_is_recognised() {
        assert_eq!(charset_of(b"\x89PNG\r\n\x1a\nxxxx"), "a PNG image");
        assert_eq!(charset_of(b"\x7fELF\x02\x01\x01\0\0"), "an ELF program");
        assert_eq!(charset_of(b"abc\0def"), "binary data");
        let mut late = vec![b'a'; 100_000];
        late.push(0);
        assert_eq!(charset_of(&late), "binary data");
        assert_eq!(
            charset_of(b"\x01\x02\xff\xfe\x03\x04\x05\x06"),
            "binary data"
        );
    }

    #[test]
    fn a_character_without_a_place_is_named() {
        let latin = Charset::Legacy(encoding_rs::WINDOWS_1252);
        assert_eq!(latin.encode("é").unwrap().as_ref(), b"\xe9");
        assert_eq!(latin.encode("a日本"), Err('日'));
    }
}

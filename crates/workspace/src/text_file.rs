//! A file's bytes beside the text a reader sees, and edits in that text carried out on the bytes.
//!
//! The view has plain `\n` line ends and no byte order mark. An edit in the view changes exactly the bytes that
//! stand for the edited text; everything around it stays byte-identical, mixed line ends included. New lines end
//! as their neighbours do.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};
use serde::Serialize;

use crate::charset::{Charset, Nature, nature};
use crate::{ContentHash, WorkspaceError};

/// How lines end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnd {
    /// Line feed; also said of text without any line end.
    Lf,
    /// Carriage return and line feed.
    CrLf,
    /// Carriage return alone, as on an old Macintosh: only where the file has no line feed at all.
    Cr,
    /// Some lines end with a carriage return and line feed, some with a line feed.
    Mixed,
}

/// A replacement of a range of the view, in bytes of the view's UTF-8, at character boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewEdit {
    /// What is replaced; empty to insert.
    pub range: Range<usize>,
    /// What takes its place, with `\n` line ends.
    pub text: String,
}

/// A text file: bytes, encoding, line ends, and the view.
#[derive(Clone, Debug)]
pub struct TextFile {
    /// The bytes; none where they are those of the view.
    raw: Option<Vec<u8>>,
    charset: Charset,
    /// Whether decoding lost nothing, so that the file may be edited.
    whole: bool,
    view: View,
}

/// Text with `\n` line ends, and where the carriage returns were.
#[derive(Clone, Debug)]
struct View {
    text: String,
    /// Offsets in `text` of each `\n` that is a carriage return and line feed in the file.
    crlf_at: Vec<usize>,
    line_end: LineEnd,
}

impl View {
    fn of(decoded: String) -> Self {
        let bytes = decoded.as_bytes();
        if memchr(b'\r', bytes).is_none() {
            return Self {
                text: decoded,
                crlf_at: Vec::new(),
                line_end: LineEnd::Lf,
            };
        }
        let feeds = memchr_iter(b'\n', bytes).count();
        if feeds == 0 {
            return Self {
                text: decoded.replace('\r', "\n"),
                crlf_at: Vec::new(),
                line_end: LineEnd::Cr,
            };
        }
        let mut text = String::with_capacity(decoded.len());
        let mut crlf_at = Vec::new();
        let mut rest = 0;
        for at in memmem::find_iter(bytes, b"\r\n") {
            text.push_str(&decoded[rest..at]);
            crlf_at.push(text.len());
            rest = at + 1;
        }
        text.push_str(&decoded[rest..]);
        let line_end = match crlf_at.len() {
            0 => LineEnd::Lf,
            some if some == feeds => LineEnd::CrLf,
            _ => LineEnd::Mixed,
        };
        Self {
            text,
            crlf_at,
            line_end,
        }
    }

    /// The file's own text for a range of the view.
    fn with_ends(&self, range: Range<usize>) -> String {
        if self.line_end == LineEnd::Cr {
            return self.text[range].replace('\n', "\r");
        }
        let first = self.crlf_at.partition_point(|at| *at < range.start);
        let mut out = String::with_capacity(range.len());
        let mut from = range.start;
        for at in self.crlf_at[first..]
            .iter()
            .take_while(|at| **at < range.end)
        {
            out.push_str(&self.text[from..*at]);
            out.push('\r');
            from = *at;
        }
        out.push_str(&self.text[from..range.end]);
        out
    }

    fn is_crlf(&self, at: usize) -> bool {
        self.crlf_at.binary_search(&at).is_ok()
    }

    /// How a line that is put at this offset ends: as the line it begins in, else as the one before, else as
    /// most lines of the file.
    fn end_at(&self, offset: usize) -> &'static str {
        if self.line_end == LineEnd::Cr {
            return "\r";
        }
        let after = memchr(b'\n', &self.text.as_bytes()[offset..]).map(|at| offset + at);
        let near = after.or_else(|| self.text[..offset].rfind('\n'));
        let feeds = || memchr_iter(b'\n', self.text.as_bytes()).count();
        let crlf = match near {
            Some(at) => self.is_crlf(at),
            None => self.crlf_at.len() * 2 > feeds(),
        };
        if crlf { "\r\n" } else { "\n" }
    }
}

impl TextFile {
    /// Reads bytes as text.
    ///
    /// # Errors
    /// They aren't text.
    pub fn read(raw: Vec<u8>, path: &str) -> Result<Self, WorkspaceError> {
        let charset = match nature(&raw) {
            Nature::Text(charset) => charset,
            Nature::Binary(what) => {
                return Err(WorkspaceError::Binary {
                    what: what.into(),
                    bytes: raw.len() as u64,
                    path: path.into(),
                });
            }
        };
        if charset == (Charset::Utf8 { bom: false }) && memchr(b'\r', &raw).is_none() {
            // The common case, without a copy.
            let text = String::from_utf8(raw)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            return Ok(Self {
                raw: None,
                charset,
                whole: true,
                view: View::of(text),
            });
        }
        let (decoded, whole) = charset.decode(&raw);
        let view = View::of(decoded.into_owned());
        Ok(Self {
            raw: Some(raw),
            charset,
            whole,
            view,
        })
    }

    /// The text of an open buffer, as a file of the given encoding would hold it.
    pub fn of_buffer(text: &str) -> Self {
        Self {
            raw: Some(text.as_bytes().to_vec()),
            charset: Charset::Utf8 { bom: false },
            whole: true,
            view: View::of(text.to_owned()),
        }
    }

    /// The bytes as they are in the file.
    pub fn raw(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.view.text.as_bytes())
    }

    /// The text a reader sees: `\n` line ends, no byte order mark.
    pub fn view(&self) -> &str {
        &self.view.text
    }

    /// The encoding.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// How lines end.
    pub fn line_end(&self) -> LineEnd {
        self.view.line_end
    }

    /// The hash of the bytes.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of(self.raw())
    }

    /// Number of lines; a line end at the very end begins no further line.
    pub fn line_count(&self) -> u64 {
        count_lines(self.view())
    }

    /// The bytes of the file with these edits made. The edits are in order and don't overlap.
    ///
    /// # Errors
    /// The file can't be decoded without loss, or a character has no place in its encoding.
    pub fn edited(&self, edits: &[ViewEdit], path: &str) -> Result<Vec<u8>, WorkspaceError> {
        let refused = |why: String| WorkspaceError::Encoding {
            why,
            path: path.into(),
        };
        if !self.whole {
            let why = format!(
                "the file is not clean {}, so it is not edited",
                self.charset
            );
            return Err(refused(why));
        }
        if matches!(self.charset, Charset::Utf8 { .. }) {
            return Ok(self.spliced_utf8(edits));
        }
        let encode = |text: &str| {
            let encoded = self.charset.encode(text).map(std::borrow::Cow::into_owned);
            encoded.map_err(|odd| refused(format!("`{odd}` has no place in {}", self.charset)))
        };
        let mut out = self.charset.mark().to_vec();
        let all = encode(&self.view.with_ends(0..self.view.text.len()))?;
        if all != self.raw()[out.len()..] {
            let why = format!("the file does not survive a reading as {}", self.charset);
            return Err(refused(why));
        }
        let mut from = 0;
        for edit in edits {
            // The encodings are stateless, so the bytes of a piece don't depend on what is around it.
            out.extend(encode(&self.view.with_ends(from..edit.range.start))?);
            out.extend(encode(&self.ended(edit))?);
            from = edit.range.end;
        }
        out.extend(encode(&self.view.with_ends(from..self.view.text.len()))?);
        Ok(out)
    }

    fn spliced_utf8(&self, edits: &[ViewEdit]) -> Vec<u8> {
        let grown: usize = edits.iter().map(|edit| edit.text.len()).sum();
        let mut out = Vec::with_capacity(self.raw().len() + grown);
        let mut from = 0;
        for edit in edits {
            let start = self.raw_offset(edit.range.start);
            out.extend_from_slice(&self.raw()[from..start]);
            out.extend_from_slice(self.ended(edit).as_bytes());
            from = self.raw_offset(edit.range.end);
        }
        out.extend_from_slice(&self.raw()[from..]);
        out
    }

    /// Where an offset of the view is in the file, in UTF-8: each line end before it may be a byte longer.
    fn raw_offset(&self, in_view: usize) -> usize {
        let longer = self.view.crlf_at.partition_point(|at| *at < in_view);
        self.charset.mark().len() + in_view + longer
    }

    /// The new text of an edit with the line ends of its place.
    fn ended(&self, edit: &ViewEdit) -> String {
        if !edit.text.contains('\n') {
            return edit.text.clone();
        }
        let end = self.view.end_at(edit.range.start);
        edit.text.replace("\r\n", "\n").replace('\n', end)
    }
}

/// Number of lines of a text with `\n` line ends.
pub(crate) fn count_lines(text: &str) -> u64 {
    let feeds = memchr_iter(b'\n', text.as_bytes()).count() as u64;
    feeds + u64::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The number, from 1, of the line in which the offset is.
pub(crate) fn line_at(text: &str, offset: usize) -> u64 {
    memchr_iter(b'\n', &text.as_bytes()[..offset]).count() as u64 + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(bytes: &[u8]) -> TextFile {
        TextFile::read(bytes.to_vec(), "f").unwrap()
    }

    fn edit(file: &TextFile, old: &str, new: &str) -> Result<Vec<u8>, WorkspaceError> {
        let start = file.view().find(old).unwrap();
        let range = start..start + old.len();
        let text = new.to_owned();
        file.edited(&[ViewEdit { range, text }], "f")
    }

    #[test]
    fn only_the_bytes_of_the_edit_change() {
        let mixed = file(b"\xef\xbb\xbfa\r\nb\nc\r\nd\re\n");
        assert_eq!(mixed.view(), "a\nb\nc\nd\re\n");
        assert_eq!(mixed.line_end(), LineEnd::Mixed);
        assert_eq!(
            edit(&mixed, "b", "B").unwrap(),
            b"\xef\xbb\xbfa\r\nB\nc\r\nd\re\n"
        );
        assert_eq!(
            edit(&mixed, "c\n", "1\n2\n").unwrap(),
            b"\xef\xbb\xbfa\r\nb\n1\r\n2\r\nd\re\n"
        );
    }

    #[test]
    fn new_lines_end_as_their_neighbours_do() {
        assert_eq!(
            edit(&file(b"x\r\ny\r\n"), "x\ny", "x\nz\n").unwrap(),
            b"x\r\nz\r\n\r\n"
        );
        assert_eq!(edit(&file(b"a\rb\r"), "a", "a\n1").unwrap(), b"a\r1\rb\r");
        assert_eq!(edit(&file(b"a"), "a", "a\nb").unwrap(), b"a\nb");
        assert_eq!(
            edit(&file(b"a\nb\r\nlast"), "last", "l\nm").unwrap(),
            b"a\nb\r\nl\r\nm"
        );
    }

    #[test]
    fn the_encoding_stays_and_what_it_cannot_hold_is_refused() {
        let (sjis, ..) =
            encoding_rs::SHIFT_JIS.encode("これは日本語のテキストです。\r\n二行目です。\r\n");
        let edited = edit(&file(&sjis), "二", "日本\n三").unwrap();
        let (expected, ..) = encoding_rs::SHIFT_JIS
            .encode("これは日本語のテキストです。\r\n日本\r\n三行目です。\r\n");
        assert_eq!(edited, expected.as_ref());
        let latin = file(b"caf\xe9 au lait, cr\xe8me br\xfbl\xe9e\n");
        assert_eq!(
            edit(&latin, "au", "日").unwrap_err().kind(),
            crate::ErrorKind::Encoding
        );
        let odd = file(b"\xff\xfea\0b\0c");
        assert_eq!(
            edit(&odd, "a", "b").unwrap_err().kind(),
            crate::ErrorKind::Encoding
        );
        let utf16 = file(b"\xff\xfea\0\r\0\n\0");
        assert_eq!(
            edit(&utf16, "a\n", "b\nc\n").unwrap(),
            b"\xff\xfeb\0\r\0\n\0c\0\r\0\n\0"
        );
    }

    proptest! {
        #[test]
        fn what_is_around_an_edit_is_byte_identical(
            before in "([a-zé日]|\n|\r\n|\r){0,30}",
            old in "[A-Z]{1,5}",
            after in "([a-zé日]|\n|\r\n|\r){0,30}",
            new in "([a-z$&é]|\n){0,8}",
            bom in any::<bool>(),
        ) {
            let mark: &[u8] = if bom { b"\xef\xbb\xbf" } else { b"" };
            let raw = [mark, before.as_bytes(), old.as_bytes(), after.as_bytes()].concat();
            let edited = edit(&file(&raw), &old, &new).unwrap();
            let kept = mark.len() + before.len();
            prop_assert_eq!(&edited[..kept], &raw[..kept]);
            prop_assert!(edited.ends_with(after.as_bytes()));
            let middle = &edited[kept..edited.len() - after.len()];
            let plain = String::from_utf8_lossy(middle).replace("\r\n", "\n").replace('\r', "\n");
            prop_assert_eq!(plain, new);
        }

        #[test]
        fn no_edit_changes_nothing_in_any_encoding(text in "([a-zé日]|\n|\r\n|\r){0,40}", which in 0..4usize) {
            let utf16 = |big_endian, bom| Charset::Utf16 { big_endian, bom };
            let charset = [
                Charset::Utf8 { bom: true },
                utf16(false, true),
                utf16(true, true),
                Charset::Utf8 { bom: false },
            ][which];
            let raw = [charset.mark(), &charset.encode(&text).unwrap()].concat();
            prop_assert_eq!(file(&raw).edited(&[], "f").unwrap(), raw);
        }
    }
}

//! The event stream format of server-sent events, over raw bytes.
//!
//! Follows the WHATWG HTML standard, section 9.2.6 "Interpreting an event stream"
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>). Bytes are split on line ends first and
//! whole lines are handed on, so a network read that ends inside a code point, or between CR and LF, changes nothing.

use memchr::{memchr, memchr2};

/// The most bytes one line or one event may hold. An endpoint that never ends its line must not eat the memory.
pub const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// U+FEFF in UTF-8, which may stand before the first line.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One thing an event stream said. Borrowed from the reader or from the bytes it was fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SseEvent<'a> {
    /// A dispatched event that carries data; events without data are not reported, as the standard asks.
    Message {
        /// The `event:` field, empty where there was none. Lossy where it was not UTF-8.
        name: &'a str,
        /// The `data:` lines joined by LF. Not yet checked to be UTF-8.
        data: &'a [u8],
    },
    /// A comment line without its colon: a sign of life and nothing else.
    Comment(&'a [u8]),
    /// A line or event grew beyond [`MAX_EVENT_BYTES`]. Nothing follows.
    TooLong,
}

/// Reads an event stream fed in pieces of any size.
///
/// `id:` and `retry:` are recognised and dropped: they serve reconnection, and the answer to a POST can't be resumed.
///
/// ```
/// use models::{SseEvent, SseReader};
///
/// let mut reader = SseReader::new();
/// let mut seen = Vec::new();
/// for piece in ["data: 4", "2\r", "\n\r\n: still here\n"] {
///     reader.feed(piece.as_bytes(), &mut |event: SseEvent<'_>| match event {
///         SseEvent::Message { data, .. } => seen.push(String::from_utf8_lossy(data).into_owned()),
///         SseEvent::Comment(text) => seen.push(format!("comment{}", String::from_utf8_lossy(text))),
///         SseEvent::TooLong => {}
///     });
/// }
/// assert_eq!(seen, ["42", "comment still here"]);
/// ```
#[derive(Debug, Default)]
pub struct SseReader {
    /// The start of a line whose end has not come yet.
    partial: Vec<u8>,
    event: EventBuffer,
    /// The last piece ended in CR: an LF that comes next belongs to it.
    after_cr: bool,
    past_first_line: bool,
    dead: bool,
}

/// The event that is being put together.
#[derive(Debug, Default)]
struct EventBuffer {
    name: String,
    data: Vec<u8>,
    has_data: bool,
}

impl SseReader {
    /// A reader at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and reports every event and comment they complete, in order.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) {
        let mut rest = bytes;
        // The event's first data line stays borrowed from `bytes` as long as it is the only one.
        let mut borrowed: Option<&[u8]> = None;
        while !self.dead && !rest.is_empty() {
            if std::mem::take(&mut self.after_cr) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.keep_partial(rest, sink);
                break;
            };
            let line = &rest[..end];
            self.after_cr = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if self.partial.is_empty() {
                let line = self.without_mark(line);
                self.event.line(line, &mut borrowed, sink);
            } else {
                self.partial.extend_from_slice(line);
                self.finish_partial(&mut borrowed, sink);
            }
            if self.event.data.len() > MAX_EVENT_BYTES {
                self.die(sink);
            }
        }
        if let Some(data) = borrowed {
            self.event.data.extend_from_slice(data);
        }
    }

    /// The stream ended: reports what a last line without its line end and a last event without its blank line hold.
    ///
    /// The standard drops such an event. Gateways exist that close right after their last `data:` line, so it is
    /// reported here, and the consumer's own grammar tells whether it is whole.
    pub fn finish(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) {
        if self.dead {
            return;
        }
        let mut borrowed = None;
        if !self.partial.is_empty() {
            self.finish_partial(&mut borrowed, sink);
        }
        self.event.line(b"", &mut borrowed, sink);
    }

    fn keep_partial(&mut self, rest: &[u8], sink: &mut impl FnMut(SseEvent<'_>)) {
        self.partial.extend_from_slice(rest);
        if self.partial.len() > MAX_EVENT_BYTES {
            self.die(sink);
        }
    }

    fn finish_partial(
        &mut self,
        borrowed: &mut Option<&[u8]>,
        sink: &mut impl FnMut(SseEvent<'_>),
    ) {
        let mut line = std::mem::take(&mut self.partial);
        let mut own = None;
        let start = line.len() - self.without_mark(&line).len();
        if let Some(data) = borrowed.take() {
            self.event.data.extend_from_slice(data);
        }
        self.event.line(&line[start..], &mut own, sink);
        if let Some(data) = own {
            self.event.data.extend_from_slice(data);
        }
        line.clear();
        self.partial = line;
    }

    fn without_mark<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if std::mem::replace(&mut self.past_first_line, true) {
            return line;
        }
        line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line)
    }

    fn die(&mut self, sink: &mut impl FnMut(SseEvent<'_>)) {
        self.dead = true;
        self.partial = Vec::new();
        self.event = EventBuffer::default();
        sink(SseEvent::TooLong);
    }
}

impl EventBuffer {
    fn line<'a>(
        &mut self,
        line: &'a [u8],
        borrowed: &mut Option<&'a [u8]>,
        sink: &mut impl FnMut(SseEvent<'_>),
    ) {
        if line.is_empty() {
            self.dispatch(borrowed, sink);
            return;
        }
        let colon = memchr(b':', line).unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"" => sink(SseEvent::Comment(&line[1..])),
            b"data" => self.add_data(value, borrowed),
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }

    fn add_data<'a>(&mut self, value: &'a [u8], borrowed: &mut Option<&'a [u8]>) {
        if !std::mem::replace(&mut self.has_data, true) {
            *borrowed = Some(value);
            return;
        }
        if let Some(first) = borrowed.take() {
            self.data.extend_from_slice(first);
        }
        self.data.push(b'\n');
        self.data.extend_from_slice(value);
    }

    fn dispatch(&mut self, borrowed: &mut Option<&[u8]>, sink: &mut impl FnMut(SseEvent<'_>)) {
        if std::mem::take(&mut self.has_data) {
            let data = borrowed.take().unwrap_or(&self.data);
            if !data.is_empty() {
                sink(SseEvent::Message {
                    name: &self.name,
                    data,
                });
            }
        }
        self.data.clear();
        self.name.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut reader = SseReader::new();
        let mut seen = Vec::new();
        let mut sink = |event: SseEvent<'_>| {
            seen.push(match event {
                SseEvent::Message { name, data } => {
                    format!("{name}|{}", String::from_utf8_lossy(data))
                }
                SseEvent::Comment(text) => format!("#{}", String::from_utf8_lossy(text)),
                SseEvent::TooLong => "too long".to_owned(),
            });
        };
        for piece in pieces {
            reader.feed(piece, &mut sink);
        }
        reader.finish(&mut sink);
        seen
    }

    #[test]
    fn the_three_line_ends_read_alike() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = format!("data: a{end}data: b{end}{end}data: c{end}{end}");
            assert_eq!(read(&[stream.as_bytes()]), ["|a\nb", "|c"], "{end:?}");
        }
    }

    #[test]
    fn a_carriage_return_and_its_line_feed_may_come_apart() {
        assert_eq!(
            read(&[b"data: a\r", b"\n\r", b"\ndata: b\r\n\r\n"]),
            ["|a", "|b"]
        );
    }

    #[test]
    fn exactly_one_space_after_the_colon_is_dropped() {
        assert_eq!(
            read(&[b"data:x\n\ndata: y\n\ndata:  z\n\n"]),
            ["|x", "|y", "| z"]
        );
    }

    #[test]
    fn a_byte_order_mark_at_the_start_is_no_part_of_the_first_field() {
        assert_eq!(read(&[b"\xEF\xBB", b"\xBFdata: a\n\n"]), ["|a"]);
        assert_eq!(read(&[b"data: a\n\n\xEF\xBB\xBFdata: b\n\n"]), ["|a"]);
    }

    #[test]
    fn comments_and_the_event_name_are_reported_and_the_name_lasts_one_event() {
        assert_eq!(
            read(&[b": alive\nevent: error\ndata: a\n\ndata: b\n\n:\n"]),
            ["# alive", "error|a", "|b", "#"]
        );
    }

    #[test]
    fn events_without_data_and_unknown_fields_are_ignored() {
        assert_eq!(
            read(&[b"event: ping\n\ndata:\n\nid: 7\nretry: 10\nfoo: bar\n\ndata\n\ndata: a\n\n"]),
            ["|a"]
        );
    }

    #[test]
    fn a_last_event_without_its_blank_line_or_line_end_is_reported() {
        assert_eq!(read(&[b"data: a\n"]), ["|a"]);
        assert_eq!(read(&[b"data: a\ndata: b"]), ["|a\nb"]);
    }

    #[test]
    fn a_line_that_never_ends_stops_the_reader() {
        let mut reader = SseReader::new();
        let mut seen = 0;
        let piece = vec![b'a'; 1 << 20];
        for _ in 0..70 {
            reader.feed(&piece, &mut |event| {
                seen += usize::from(event == SseEvent::TooLong);
            });
        }
        assert_eq!(seen, 1);
        assert!(reader.partial.capacity() == 0);
    }

    proptest! {
        #[test]
        fn any_split_of_any_stream_reads_the_same(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "data: {\"a\":\"é\"}", "data:x", "data", ": c", "event: error", "id: 1", "", "", "\u{FEFF}data: 日本", "data: ",
                ]),
                0..24,
            ),
            ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r", "\r\n"]), 24),
            cuts in prop::collection::vec(0usize..400, 0..12),
        ) {
            let stream: String = lines.iter().zip(&ends).flat_map(|(line, end)| [*line, *end]).collect();
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[bytes]));
        }
    }
}

//! Requests out of a byte stream that arrives in any pieces.

use bytes::{Buf, BytesMut};

/// A request with its whole body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path with query, as sent.
    pub(crate) target: String,
    /// In the order they came; values that aren't UTF-8 are repaired.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Whether the client knows chunked bodies and may send another request on the same connection.
    pub(crate) http_1_1: bool,
    pub(crate) keep_alive: bool,
}

/// Why a connection can't be understood any further, and the status that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadRequest {
    #[error("the request head is malformed")]
    Head,
    #[error("the request head is longer than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} headers")]
    HeadTooLarge,
    #[error("the length of the request body is malformed or given twice")]
    Length,
    #[error("the request body is longer than {MAX_BODY_BYTES} bytes")]
    BodyTooLarge,
    #[error("the chunked request body is malformed")]
    Chunk,
    #[error("the request's transfer encoding is unknown")]
    Encoding,
}

impl BadRequest {
    pub(crate) fn status(self) -> u16 {
        match self {
            BadRequest::Head | BadRequest::Length | BadRequest::Chunk => 400,
            BadRequest::BodyTooLarge => 413,
            BadRequest::HeadTooLarge => 431,
            BadRequest::Encoding => 501,
        }
    }
}

pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;
pub(crate) const MAX_HEADERS: usize = 100;
/// Room for a prompt of a million tokens and more.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
/// Longest line with a chunk's size and extensions.
const MAX_CHUNK_LINE_BYTES: usize = 1024;

/// Reads requests one after the other. Feed it by appending to the buffer that it takes from.
#[derive(Debug, Default)]
pub(crate) struct RequestReader {
    state: State,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Body(Request, Remaining),
}

#[derive(Debug, Clone, Copy)]
enum Remaining {
    Length(usize),
    ChunkSize,
    /// Bytes of this chunk's data that are still to come.
    ChunkData(usize),
    /// The line end after a chunk's data.
    ChunkEnd,
    /// Trailer lines up to an empty one.
    Trailers,
}

impl RequestReader {
    /// Takes the next request out of the buffer if the whole of it is there. After an error the connection is of no
    /// further use.
    pub(crate) fn advance(&mut self, buffer: &mut BytesMut) -> Result<Option<Request>, BadRequest> {
        loop {
            match std::mem::take(&mut self.state) {
                State::Head => match read_head(buffer)? {
                    Some((request, remaining)) => self.state = State::Body(request, remaining),
                    None => return Ok(None),
                },
                State::Body(mut request, remaining) => {
                    match read_body(&mut request.body, remaining, buffer)? {
                        Progress::Done => return Ok(Some(request)),
                        Progress::Next(remaining) => {
                            self.state = State::Body(request, remaining);
                        }
                        Progress::NeedsMore(remaining) => {
                            self.state = State::Body(request, remaining);
                            return Ok(None);
                        }
                    }
                }
            }
        }
    }

    /// Whether the client waits for a "100 Continue" before it sends the body.
    pub(crate) fn awaits_continue(&self) -> bool {
        match &self.state {
            State::Head => false,
            State::Body(request, _) => {
                request.body.is_empty()
                    && request.http_1_1
                    && request
                        .header("expect")
                        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
            }
        }
    }
}

impl Request {
    /// The first header of this name, in whatever case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn headers_named(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.headers
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn has_connection_token(&self, token: &str) -> bool {
        self.headers_named("connection")
            .flat_map(|value| value.split(','))
            .any(|option| option.trim().eq_ignore_ascii_case(token))
    }

    /// How the body is framed; conflicting lengths are refused (RFC 9112, section 6.3).
    fn remaining(&self) -> Result<Remaining, BadRequest> {
        let encoding = self.header("transfer-encoding");
        let mut lengths = self.headers_named("content-length");
        let length = lengths.next();
        if lengths.next().is_some() || (encoding.is_some() && length.is_some()) {
            return Err(BadRequest::Length);
        }
        if let Some(encoding) = encoding {
            return match encoding.eq_ignore_ascii_case("chunked") {
                true => Ok(Remaining::ChunkSize),
                false => Err(BadRequest::Encoding),
            };
        }
        let Some(length) = length else {
            return Ok(Remaining::Length(0));
        };
        if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadRequest::Length);
        }
        match length.parse() {
            Ok(length) if length <= MAX_BODY_BYTES => Ok(Remaining::Length(length)),
            _ => Err(BadRequest::BodyTooLarge),
        }
    }
}

fn read_head(buffer: &mut BytesMut) -> Result<Option<(Request, Remaining)>, BadRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let window = &buffer[..buffer.len().min(MAX_HEAD_BYTES)];
    let head_bytes = match parsed.parse(window) {
        Ok(httparse::Status::Complete(head_bytes)) => head_bytes,
        Ok(httparse::Status::Partial) if window.len() == MAX_HEAD_BYTES => {
            return Err(BadRequest::HeadTooLarge);
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(BadRequest::HeadTooLarge),
        Err(_) => return Err(BadRequest::Head),
    };
    let mut request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed
            .headers
            .iter()
            .map(|header| {
                let value = String::from_utf8_lossy(header.value).trim().to_owned();
                (header.name.to_owned(), value)
            })
            .collect(),
        body: Vec::new(),
        http_1_1: parsed.version == Some(1),
        keep_alive: false,
    };
    request.keep_alive = request.http_1_1 && !request.has_connection_token("close");
    buffer.advance(head_bytes);
    let remaining = request.remaining()?;
    Ok(Some((request, remaining)))
}

enum Progress {
    Done,
    Next(Remaining),
    NeedsMore(Remaining),
}

fn read_body(
    body: &mut Vec<u8>,
    remaining: Remaining,
    buffer: &mut BytesMut,
) -> Result<Progress, BadRequest> {
    match remaining {
        Remaining::Length(0) => Ok(Progress::Done),
        Remaining::Length(left) => Ok(match take(body, left, buffer) {
            0 => Progress::Done,
            left => Progress::NeedsMore(Remaining::Length(left)),
        }),
        Remaining::ChunkSize => read_chunk_size(body, buffer),
        Remaining::ChunkData(left) => Ok(match take(body, left, buffer) {
            0 => Progress::Next(Remaining::ChunkEnd),
            left => Progress::NeedsMore(Remaining::ChunkData(left)),
        }),
        Remaining::ChunkEnd => match buffer.as_ref() {
            [b'\r', b'\n', ..] => {
                buffer.advance(2);
                Ok(Progress::Next(Remaining::ChunkSize))
            }
            [] | [b'\r'] => Ok(Progress::NeedsMore(Remaining::ChunkEnd)),
            _ => Err(BadRequest::Chunk),
        },
        Remaining::Trailers => {
            let Some(end) = buffer.iter().position(|byte| *byte == b'\n') else {
                return match buffer.len() > MAX_HEAD_BYTES {
                    true => Err(BadRequest::HeadTooLarge),
                    false => Ok(Progress::NeedsMore(Remaining::Trailers)),
                };
            };
            let line = buffer.split_to(end + 1);
            Ok(match line.trim_ascii().is_empty() {
                true => Progress::Done,
                false => Progress::Next(Remaining::Trailers),
            })
        }
    }
}

fn read_chunk_size(body: &[u8], buffer: &mut BytesMut) -> Result<Progress, BadRequest> {
    match httparse::parse_chunk_size(buffer) {
        Ok(httparse::Status::Complete((line_bytes, size))) => {
            buffer.advance(line_bytes);
            let size = usize::try_from(size).map_err(|_| BadRequest::BodyTooLarge)?;
            if size > MAX_BODY_BYTES - body.len() {
                return Err(BadRequest::BodyTooLarge);
            }
            Ok(Progress::Next(match size {
                0 => Remaining::Trailers,
                size => Remaining::ChunkData(size),
            }))
        }
        Ok(httparse::Status::Partial) if buffer.len() > MAX_CHUNK_LINE_BYTES => {
            Err(BadRequest::Chunk)
        }
        Ok(httparse::Status::Partial) => Ok(Progress::NeedsMore(Remaining::ChunkSize)),
        Err(_) => Err(BadRequest::Chunk),
    }
}

/// Moves up to `wanted` bytes and returns how many are still to come.
fn take(body: &mut Vec<u8>, wanted: usize, buffer: &mut BytesMut) -> usize {
    let there = buffer.split_to(wanted.min(buffer.len()));
    body.extend_from_slice(&there);
    wanted - there.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds the pieces one after the other and collects what comes out, up to the first error.
    fn read(pieces: &[&[u8]]) -> (Vec<Request>, Option<BadRequest>) {
        let mut reader = RequestReader::default();
        let mut buffer = BytesMut::new();
        let mut requests = Vec::new();
        for piece in pieces {
            buffer.extend_from_slice(piece);
            loop {
                match reader.advance(&mut buffer) {
                    Ok(Some(request)) => requests.push(request),
                    Ok(None) => break,
                    Err(error) => return (requests, Some(error)),
                }
            }
        }
        (requests, None)
    }

    const TWO_REQUESTS: &[u8] =
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world\
        POST /x?y=1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
        6;ext=1\r\nhello \r\n5\r\nworld\r\n0\r\nTrailer: 1\r\n\r\n";

    #[test]
    fn bodies_come_with_a_length_or_in_chunks() {
        let (requests, error) = read(&[TWO_REQUESTS]);
        assert_eq!(error, None);
        assert_eq!(requests.len(), 2);
        assert_eq!(requests[0].body, b"hello world");
        assert_eq!(requests[0].header("HOST"), Some("a"));
        assert!(requests[0].keep_alive);
        assert_eq!(requests[1].body, b"hello world");
        assert_eq!(requests[1].target, "/x?y=1");
        assert!(!requests[1].keep_alive);
    }

    #[test]
    fn a_client_of_http_1_0_gets_one_answer() {
        let (requests, _) = read(&[b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"]);
        assert!(!requests[0].http_1_1);
        assert!(!requests[0].keep_alive);
    }

    #[test]
    fn what_cannot_be_framed_is_refused() {
        let cases: [(&[u8], BadRequest); 8] = [
            (b"hello\r\n\r\n", BadRequest::Head),
            (
                b"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                BadRequest::Length,
            ),
            (
                b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
                BadRequest::Length,
            ),
            (
                b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                BadRequest::Length,
            ),
            (
                b"GET / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
                BadRequest::BodyTooLarge,
            ),
            (
                b"GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
                BadRequest::Encoding,
            ),
            (
                b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
                BadRequest::Chunk,
            ),
            (
                b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",
                BadRequest::BodyTooLarge,
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                read(&[bytes]).1,
                Some(expected),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
    }

    #[test]
    fn a_head_without_end_is_refused() {
        let mut head = b"GET / HTTP/1.1\r\nX: ".to_vec();
        head.resize(MAX_HEAD_BYTES + 1, b'a');
        assert_eq!(read(&[&head]).1, Some(BadRequest::HeadTooLarge));
        let many = "GET / HTTP/1.1\r\n".to_owned() + &"X: a\r\n".repeat(MAX_HEADERS + 1) + "\r\n";
        assert_eq!(read(&[many.as_bytes()]).1, Some(BadRequest::HeadTooLarge));
    }

    #[test]
    fn a_client_that_expects_continue_is_noticed_until_it_sends() {
        let mut reader = RequestReader::default();
        let mut buffer = BytesMut::from(
            &b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"[..],
        );
        assert_eq!(reader.advance(&mut buffer), Ok(None));
        assert!(reader.awaits_continue());
        buffer.extend_from_slice(b"h");
        assert_eq!(reader.advance(&mut buffer), Ok(None));
        assert!(!reader.awaits_continue());
    }

    proptest! {
        #[test]
        fn any_way_of_arriving_gives_the_same_requests(mut cuts in prop::collection::vec(0..TWO_REQUESTS.len(), 0..12)) {
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut start = 0;
            for cut in cuts {
                pieces.push(&TWO_REQUESTS[start..cut]);
                start = cut;
            }
            pieces.push(&TWO_REQUESTS[start..]);
            prop_assert_eq!(read(&pieces), read(&[TWO_REQUESTS]));
        }

        #[test]
        fn random_bytes_neither_panic_nor_loop(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            read(&pieces);
        }

        #[test]
        fn broken_requests_neither_panic_nor_loop(at in 0..TWO_REQUESTS.len(), byte in any::<u8>(), cut in 0..TWO_REQUESTS.len()) {
            let mut bytes = TWO_REQUESTS.to_vec();
            bytes[at] = byte;
            read(&[&bytes[..cut], &bytes[cut..]]);
        }
    }
}

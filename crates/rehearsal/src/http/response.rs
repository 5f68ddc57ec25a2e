//! Response heads and chunked framing.

use std::fmt::Write;

/// How the end of a body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// Status line and headers of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: Framing,
}

impl ResponseHead {
    /// The bytes of the head; `closes` announces that the connection ends with this response.
    pub(crate) fn encode(&self, closes: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head.push_str(name);
            head.push_str(": ");
            head.push_str(value);
            head.push_str("\r\n");
        }
        match self.framing {
            // Writing to a String can't fail.
            Framing::Length(bytes) => {
                let _ = write!(head, "content-length: {bytes}\r\n");
            }
            Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n"),
            Framing::UntilClose => {}
        }
        if closes || self.framing == Framing::UntilClose {
            head.push_str("connection: close\r\n");
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

/// One chunk of a chunked body (RFC 9112, section 7.1). An empty one would end the body, so it becomes nothing.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// The last chunk, which ends a chunked body.
pub(crate) fn end_of_chunks() -> &'static [u8] {
    b"0\r\n\r\n"
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Scripted",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_the_framing() {
        let head = |framing, closes| {
            let head = ResponseHead {
                status: 429,
                headers: vec![("Retry-After".to_owned(), "3".to_owned())],
                framing,
            };
            String::from_utf8(head.encode(closes)).expect("a head is ASCII here")
        };
        assert_eq!(
            head(Framing::Length(7), false),
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\ncontent-length: 7\r\n\r\n"
        );
        assert!(
            head(Framing::Chunked, true)
                .ends_with("transfer-encoding: chunked\r\nconnection: close\r\n\r\n")
        );
        assert!(head(Framing::UntilClose, false).ends_with("connection: close\r\n\r\n"));
    }

    #[test]
    fn an_empty_chunk_does_not_end_the_body() {
        assert_eq!(chunk(b""), b"");
        assert_eq!(chunk(b"twelve bytes"), b"c\r\ntwelve bytes\r\n");
    }
}

//! The way of a request to its server.

use futures_util::future::BoxFuture;
use url::Url;

/// Largest body of an answer, in bytes.
pub const RESPONSE_LIMIT: usize = 50 << 20;

/// One request. It may hold secrets, so it can't be printed.
pub struct Request {
    /// HTTP method in capitals.
    pub method: String,
    /// Where it goes.
    pub url: Url,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Option<Vec<u8>>,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Header fields in order.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Response {
    /// The first value of a header field, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Why there is no answer; the text says it without the request's address or content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportError(pub String);

impl std::fmt::Display for TransportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TransportError {}

/// Sends requests. Redirects are answers like others: whoever made the request decides whether to follow them. An answer
/// longer than [`RESPONSE_LIMIT`] is an error, and no more of it is read.
pub trait Transport: Send + Sync {
    /// Sends one request. Dropping the future gives it up.
    fn send(&self, request: Request) -> BoxFuture<'static, Result<Response, TransportError>>;
}

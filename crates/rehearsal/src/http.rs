//! As much of HTTP/1.1 as a chat client speaks (RFC 9112), by hand, because faults need every byte under control.

mod request;
mod response;

pub(crate) use request::{BadRequest, Request, RequestReader};
pub(crate) use response::{Framing, ResponseHead, chunk, end_of_chunks};

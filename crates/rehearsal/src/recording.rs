//! What came in: every request with its fate, and a way to wait for the next.

use serde::{Serialize, Serializer};
use serde_json::Value;
use tokio::sync::watch;

use crate::http::Request;

/// One request as it came, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// Number among all requests, from 1.
    pub seq: usize,
    /// Number among the chat requests, from 1; nothing for any other request.
    pub chat: Option<usize>,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Path with its query, as sent.
    pub path: String,
    /// Names as sent, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null when it isn't JSON.
    pub body: Value,
    /// The body's bytes. As JSON it is a text, repaired where it isn't UTF-8.
    #[serde(serialize_with = "as_text")]
    pub raw: Vec<u8>,
    /// The step that answered, by number, name and line; nothing when none did.
    pub step: Option<String>,
    /// The whole answer was sent.
    pub answered: bool,
    /// The client went before the answer was complete.
    pub disconnected: bool,
}

impl Recorded {
    /// The first header of this name, in whatever case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

fn as_text<S: Serializer>(raw: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(raw))
}

/// How many bytes of bodies are kept. Beyond that the oldest requests lose theirs, because a demo may run for days.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// All requests of one server.
#[derive(Debug)]
pub(crate) struct Recording {
    kept_bytes: usize,
    entries: watch::Sender<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    requests: Vec<Recorded>,
    chats: usize,
    /// Bytes of bodies that are still kept, and the first request that still has its own.
    bytes: usize,
    first_whole: usize,
    mismatches: Vec<String>,
}

impl Default for Recording {
    fn default() -> Self {
        Recording {
            kept_bytes: KEPT_BYTES,
            entries: watch::Sender::default(),
        }
    }
}

impl Recording {
    /// Adds a request and returns its number.
    pub(crate) fn add(&self, request: &Request, body: Value, is_chat: bool) -> usize {
        let mut seq = 0;
        self.entries.send_modify(|entries| {
            seq = entries.requests.len() + 1;
            entries.chats += usize::from(is_chat);
            entries.bytes += request.body.len();
            entries.requests.push(Recorded {
                seq,
                chat: is_chat.then_some(entries.chats),
                method: request.method.clone(),
                path: request.target.clone(),
                headers: request.headers.clone(),
                body,
                raw: request.body.clone(),
                step: None,
                answered: false,
                disconnected: false,
            });
            entries.drop_oldest_bodies(self.kept_bytes);
        });
        seq
    }

    pub(crate) fn update(&self, seq: usize, change: impl FnOnce(&mut Recorded)) {
        self.entries.send_modify(|entries| {
            if let Some(request) = entries.requests.get_mut(seq - 1) {
                change(request);
            }
        });
    }

    pub(crate) fn add_mismatch(&self, text: String) {
        self.entries
            .send_modify(|entries| entries.mismatches.push(text));
    }

    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.entries.borrow().requests.clone()
    }

    pub(crate) fn mismatches(&self) -> Vec<String> {
        self.entries.borrow().mismatches.clone()
    }

    /// The `nth` chat request, as soon as it is there and what became of it fits.
    pub(crate) async fn wait_for_chat(
        &self,
        nth: usize,
        mut fits: impl FnMut(&Recorded) -> bool,
    ) -> Recorded {
        let mut entries = self.entries.subscribe();
        loop {
            let found = entries
                .borrow_and_update()
                .requests
                .iter()
                .find(|request| request.chat == Some(nth) && fits(request))
                .cloned();
            if let Some(found) = found {
                return found;
            }
            if entries.changed().await.is_err() {
                // The sender lives as long as self, so this can't be reached.
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Entries {
    fn drop_oldest_bodies(&mut self, kept_bytes: usize) {
        while self.bytes > kept_bytes && self.first_whole + 1 < self.requests.len() {
            let oldest = &mut self.requests[self.first_whole];
            self.bytes -= oldest.raw.len();
            oldest.raw = Vec::new();
            oldest.body = Value::Null;
            self.first_whole += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(body: &str) -> Request {
        Request {
            method: "POST".to_owned(),
            target: "/x".to_owned(),
            headers: vec![("Host".to_owned(), "a".to_owned())],
            body: body.as_bytes().to_vec(),
            http_1_1: true,
            keep_alive: true,
        }
    }

    #[test]
    fn the_oldest_bodies_go_when_there_is_too_much() {
        let recording = Recording {
            kept_bytes: 10,
            ..Recording::default()
        };
        for body in ["123456", "12345678901234", "1234"] {
            recording.add(&request(body), Value::Null, true);
        }
        let kept: Vec<usize> = recording.requests().iter().map(|r| r.raw.len()).collect();
        assert_eq!(kept, [0, 0, 4]);
        assert_eq!(recording.requests()[2].seq, 3);
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_change_it_waits_for() {
        let recording = Recording::default();
        recording.add(&request(""), Value::Null, false);
        let (found, ()) = tokio::join!(recording.wait_for_chat(1, |r| r.disconnected), async {
            let seq = recording.add(&request("body"), Value::Null, true);
            tokio::task::yield_now().await;
            recording.update(seq, |request| request.disconnected = true);
        });
        assert_eq!((found.seq, found.raw.as_slice()), (2, &b"body"[..]));
        assert_eq!(found.header("host"), Some("a"));
    }
}

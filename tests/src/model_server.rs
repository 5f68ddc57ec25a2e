//! A scripted model server on a real port, with waits that end by themselves.

use std::future::Future;
use std::time::{Duration, Instant};

use rehearsal::{Options, Recorded, Rehearsal, Script};
use tokio::runtime::Runtime;

use crate::PATIENCE;

/// How often the record is looked at for what the server tells nobody.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A scripted server, with a runtime of its own.
#[derive(Debug)]
pub struct ModelServer {
    server: Rehearsal,
    runtime: Runtime,
}

impl ModelServer {
    /// Serves a script.
    pub fn play(script: &str) -> Self {
        let script = Script::parse(script).expect("the script is right");
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime
            .block_on(Rehearsal::start(script, Options::default()))
            .expect("a free port");
        Self { server, runtime }
    }

    /// What goes into the settings.
    pub fn base_url(&self) -> String {
        self.server.base_url()
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// Every chat request so far.
    pub fn chats(&self) -> Vec<Recorded> {
        self.requests()
            .into_iter()
            .filter(|request| request.chat.is_some())
            .collect()
    }

    /// The `nth` chat request, from 1.
    pub fn wait_for_chat(&self, nth: usize) -> Recorded {
        self.wait("a chat request", self.server.wait_for_request(nth))
    }

    /// The `nth` chat request, from 1, once its client has gone before the end.
    pub fn wait_for_disconnect(&self, nth: usize) -> Recorded {
        self.wait(
            "a client that hangs up",
            self.server.wait_for_disconnect(nth),
        )
    }

    /// The `nth` chat request, from 1, once its answer has been sent.
    pub fn wait_for_answer(&self, nth: usize) -> Recorded {
        self.wait("an answer", self.server.wait_for_answer(nth))
    }

    /// Waits until somebody has asked for the list of models.
    pub fn wait_for_list(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self
            .requests()
            .iter()
            .any(|request| request.path == "/v1/models")
        {
            assert!(
                Instant::now() < deadline,
                "nobody asks for the list of models"
            );
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Waits until a reply has come to a gate.
    pub fn wait_at_gate(&self, name: &str) {
        self.wait(name, self.server.wait_at_gate(name));
    }

    /// Opens a gate.
    pub fn open_gate(&self, name: &str) {
        self.server.open_gate(name);
    }

    /// Panics when a request came that no step answers.
    pub fn assert_all_matched(&self) {
        let mismatches = self.server.mismatches();
        assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
    }

    fn wait<T>(&self, what: &str, event: impl Future<Output = T>) -> T {
        let waiting = async { tokio::time::timeout(PATIENCE, event).await };
        let found = self.runtime.block_on(waiting);
        found.unwrap_or_else(|_| panic!("{what} did not come; the server saw {:?}", self.paths()))
    }

    fn paths(&self) -> Vec<String> {
        self.requests()
            .into_iter()
            .map(|request| request.path)
            .collect()
    }
}

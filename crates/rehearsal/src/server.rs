//! The running server.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

use crate::connection::Connection;
use crate::recording::Recorded;
use crate::script::Script;
use crate::stage::Stage;

/// How a script is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// What `{{fact:NAME}}` stands for: short texts on one line.
    pub facts: BTreeMap<String, String>,
    /// Strict: a request that no step matches is answered with status 500. Lenient: steps marked `otherwise` answer it.
    pub strict: bool,
}

impl Default for Options {
    /// A free port, no facts, strict: what a test wants.
    fn default() -> Self {
        Options {
            port: 0,
            facts: BTreeMap::new(),
            strict: true,
        }
    }
}

/// A scripted model server. It stops when it is dropped.
#[derive(Debug)]
pub struct Rehearsal {
    addr: SocketAddr,
    stage: Arc<Stage>,
    accepting: JoinHandle<()>,
}

/// How long to wait after a connection couldn't be accepted, which happens when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

impl Rehearsal {
    /// Binds to 127.0.0.1 and serves from then on, inside the current tokio runtime.
    ///
    /// Fails when the port is taken.
    pub async fn start(script: Script, options: Options) -> io::Result<Rehearsal> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
        let addr = listener.local_addr()?;
        let stage = Arc::new(Stage::new(script, options));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&stage)));
        Ok(Rehearsal {
            addr,
            stage,
            accepting,
        })
    }

    /// What a client takes for its base URL: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.addr)
    }

    /// Where the server listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Every request so far, the model list's and unknown paths included. Bodies beyond the last 64 MiB are dropped.
    pub fn requests(&self) -> Vec<Recorded> {
        self.stage.recording.requests()
    }

    /// What was expected and what came, for each request that no step matched.
    pub fn mismatches(&self) -> Vec<String> {
        self.stage.recording.mismatches()
    }

    /// Waits for the `nth` chat request, from 1. Without one this never ends: put a timeout around it.
    pub async fn wait_for_request(&self, nth: usize) -> Recorded {
        self.stage.recording.wait_for_chat(nth, |_| true).await
    }

    /// Waits until the client of the `nth` chat request, from 1, has gone before its answer was complete. Without that
    /// this never ends: put a timeout around it.
    pub async fn wait_for_disconnect(&self, nth: usize) -> Recorded {
        let gone = |request: &Recorded| request.disconnected;
        self.stage.recording.wait_for_chat(nth, gone).await
    }

    /// Waits until the whole answer to the `nth` chat request, from 1, has been sent.
    pub async fn wait_for_answer(&self, nth: usize) -> Recorded {
        let answered = |request: &Recorded| request.answered;
        self.stage.recording.wait_for_chat(nth, answered).await
    }

    /// Lets every reply pass the gate of this name, now and later.
    pub fn open_gate(&self, name: &str) {
        self.stage.gates.open(name);
    }

    /// Waits until a reply has come to the gate of this name, so that everything before it has been sent.
    pub async fn wait_at_gate(&self, name: &str) {
        self.stage.gates.wait_until_reached(name).await;
    }

    /// Closes the port and every connection, and returns when that is done.
    pub async fn shutdown(mut self) {
        self.accepting.abort();
        // The task was aborted, so it has nothing to report.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Accepts until it is aborted; its connections end with it.
async fn accept(listener: TcpListener, stage: Arc<Stage>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    // Without this the kernel may hold small writes back and join them.
                    if let Err(error) = socket.set_nodelay(true) {
                        log::debug!("rehearsal: can't switch Nagle's algorithm off: {error}");
                    }
                    connections.spawn(Connection::new(socket, Arc::clone(&stage)).run());
                }
                Err(error) => {
                    log::warn!("rehearsal: can't accept a connection: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

//! A server that hands each request, and the socket it came on, to a script.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field
                .eq_ignore_ascii_case(name)
                .then(|| value.trim().to_owned())
        })
    }
}

/// A request and its socket, to be answered in any way.
pub(crate) struct Exchange {
    pub(crate) number: usize,
    socket: TcpStream,
    unread: Vec<u8>,
    received: Arc<Mutex<Vec<Received>>>,
}

pub(crate) struct WireServer {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl WireServer {
    /// Starts a server; `script` runs once per connection, after its first request was read.
    pub(crate) async fn start<F, Fut>(script: F) -> WireServer
    where
        F: Fn(Exchange) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let received = Arc::new(Mutex::new(Vec::new()));
        let record = received.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let mut exchange = Exchange {
                    number: 0,
                    socket,
                    unread: Vec::new(),
                    received: record.clone(),
                };
                if exchange.next_request().await {
                    tokio::spawn(script(exchange));
                }
            }
        });
        WireServer { address, received }
    }

    /// A server that sends the same bytes to everybody and hangs up.
    pub(crate) async fn always(answer: impl Into<String>) -> WireServer {
        let answer: Arc<str> = answer.into().into();
        WireServer::start(move |mut exchange| {
            let answer = answer.clone();
            async move { exchange.send(&answer).await }
        })
        .await
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("not poisoned").clone()
    }
}

impl Exchange {
    /// Reads the next request on this connection; false when there is none.
    pub(crate) async fn next_request(&mut self) -> bool {
        loop {
            let text = String::from_utf8_lossy(&self.unread).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let mut received = Received {
                    head: head.to_owned(),
                    body: String::new(),
                };
                let length: usize = received
                    .header("content-length")
                    .map_or(0, |length| length.parse().expect("a number"));
                if body.len() >= length {
                    received.body = body[..length].to_owned();
                    self.unread.clear();
                    let mut all = self.received.lock().expect("not poisoned");
                    all.push(received);
                    self.number = all.len();
                    return true;
                }
            }
            let mut bytes = [0; 4096];
            match self.socket.read(&mut bytes).await {
                Ok(0) | Err(_) => return false,
                Ok(count) => self.unread.extend_from_slice(&bytes[..count]),
            }
        }
    }

    /// Whether the newest request is a GET.
    pub(crate) fn is_get(&self) -> bool {
        let all = self.received.lock().expect("not poisoned");
        all.last()
            .is_some_and(|received| received.head.starts_with("GET "))
    }

    pub(crate) async fn send(&mut self, bytes: &str) {
        // The client may be gone already; what the test waits for tells.
        _ = self.socket.write_all(bytes.as_bytes()).await;
    }

    pub(crate) async fn send_stream_head(&mut self) {
        self.send(&stream_answer("")).await;
    }

    /// Whether the client still takes bytes.
    pub(crate) async fn try_send(&mut self, bytes: &str) -> bool {
        self.socket.write_all(bytes.as_bytes()).await.is_ok()
    }

    /// Waits until the client closes the connection.
    pub(crate) async fn closed(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.socket.read(&mut bytes).await, Ok(1..)) {}
    }

    /// Breaks the connection with a TCP reset.
    pub(crate) fn reset(self) {
        self.socket.set_zero_linger().expect("an open socket");
    }
}

/// An answer that streams until the connection closes.
pub(crate) fn stream_answer(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

/// An answer with a status, its own headers (each ending in CRLF) and a body.
pub(crate) fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

//! A client that sees what a real one hides: every chunk of the body by itself, and how the connection ended.

use rehearsal::{Options, Rehearsal, Script};
use serde_json::{Value, json};
use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Runs a step of a test that must end by itself; the time is generous, because machines are slow at times.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what)
        .await
        .expect("it ends within 30 seconds")
}

pub(crate) async fn rehearse(script: &str) -> Rehearsal {
    let script = Script::parse(script).expect("the script is well formed");
    Rehearsal::start(script, Options::default())
        .await
        .expect("a port is free")
}

/// A server whose only step has these keys.
pub(crate) async fn rehearse_step(keys: &str) -> Rehearsal {
    rehearse(&format!("[[step]]\n{keys}\n")).await
}

pub(crate) fn chat(user: &str) -> Value {
    json!({
        "model": "m",
        "stream": true,
        "messages": [
            { "role": "system", "content": "You are Ada, one of several." },
            { "role": "user", "content": format!("[User] {user}") },
        ],
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The body was complete and the connection is still open.
    Complete,
    Closed,
    Reset,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    /// The chunks of a chunked body, or all of another body in one.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn body(&self) -> String {
        String::from_utf8_lossy(&self.chunks.concat()).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body()).expect("the body is JSON")
    }

    /// The payloads of a stream with LF line ends.
    pub(crate) fn payloads(&self) -> Vec<String> {
        let body = self.body();
        let lines = body.split("\n\n").filter_map(|e| e.strip_prefix("data: "));
        lines.map(str::to_owned).collect()
    }

    /// The payloads that are JSON objects.
    pub(crate) fn events(&self) -> Vec<Value> {
        let payloads = self.payloads();
        let objects = payloads.iter().filter(|payload| payload.starts_with('{'));
        objects
            .map(|payload| serde_json::from_str(payload).expect("an event is JSON"))
            .collect()
    }

    /// All content deltas, joined.
    pub(crate) fn content(&self) -> String {
        let deltas = self
            .events()
            .into_iter()
            .map(|mut event| event["choices"][0]["delta"]["content"].take());
        deltas
            .filter_map(|content| content.as_str().map(str::to_owned))
            .collect()
    }

    pub(crate) fn finish(&self) -> Option<String> {
        self.events().iter().find_map(|event| {
            event["choices"][0]["finish_reason"]
                .as_str()
                .map(str::to_owned)
        })
    }
}

#[derive(Debug)]
pub(crate) struct Client {
    socket: TcpStream,
    buffer: Vec<u8>,
    chunked: bool,
    length: Option<usize>,
}

impl Client {
    pub(crate) async fn connect(addr: SocketAddr) -> Client {
        Client {
            socket: TcpStream::connect(addr).await.expect("the server listens"),
            buffer: Vec::new(),
            chunked: false,
            length: None,
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.socket
            .write_all(bytes)
            .await
            .expect("the server reads");
    }

    pub(crate) async fn send_chat(&mut self, body: &Value) {
        let body = body.to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        self.send((head + &body).as_bytes()).await;
    }

    async fn more(&mut self) -> Result<(), End> {
        match soon(self.socket.read_buf(&mut self.buffer)).await {
            Ok(0) => Err(End::Closed),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(End::Reset),
            Err(error) => panic!("reading failed: {error}"),
        }
    }

    async fn line(&mut self) -> Result<String, End> {
        loop {
            if let Some(at) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                let line: Vec<u8> = self.buffer.drain(..at + 2).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, bytes: usize) -> Result<Vec<u8>, End> {
        while self.buffer.len() < bytes {
            self.more().await?;
        }
        Ok(self.buffer.drain(..bytes).collect())
    }

    /// Status and headers of the next response.
    pub(crate) async fn head(&mut self) -> Result<Response, End> {
        let status_line = self.line().await?;
        let status = status_line.split(' ').nth(1).and_then(|s| s.parse().ok());
        let mut response = Response {
            status: status.expect("the status line holds a status"),
            headers: Vec::new(),
            chunks: Vec::new(),
            end: End::Complete,
        };
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            response
                .headers
                .push((name.to_lowercase(), value.to_owned()));
        }
        self.chunked = response.header("transfer-encoding") == Some("chunked");
        self.length = response
            .header("content-length")
            .and_then(|n| n.parse().ok());
        Ok(response)
    }

    /// The next chunk of a chunked body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, End> {
        let line = self.line().await?;
        let bytes = usize::from_str_radix(&line, 16).expect("a chunk has a size");
        let mut chunk = self.take(bytes + 2).await?;
        assert_eq!(chunk.split_off(bytes), b"\r\n");
        Ok((bytes > 0).then_some(chunk))
    }

    async fn body(&mut self, response: &mut Response) -> Result<(), End> {
        if self.chunked {
            while let Some(chunk) = self.chunk().await? {
                response.chunks.push(chunk);
            }
            return Ok(());
        }
        if let Some(bytes) = self.length {
            response.chunks.push(self.take(bytes).await?);
            return Ok(());
        }
        loop {
            if let Err(end) = self.more().await {
                response.chunks.push(std::mem::take(&mut self.buffer));
                return Err(end);
            }
        }
    }

    /// The next response, as far as it comes.
    pub(crate) async fn response(&mut self) -> Response {
        let mut response = self.head().await.expect("a response begins");
        if let Err(end) = self.body(&mut response).await {
            response.end = end;
            response.chunks.push(std::mem::take(&mut self.buffer));
        }
        response
    }

    /// Reads until the server ends the connection and says how it did.
    pub(crate) async fn end(mut self) -> (Vec<u8>, End) {
        loop {
            if let Err(end) = self.more().await {
                return (self.buffer, end);
            }
        }
    }
}

/// One chat request on a connection of its own.
pub(crate) async fn ask(rehearsal: &Rehearsal, body: &Value) -> Response {
    let mut client = Client::connect(rehearsal.addr()).await;
    client.send_chat(body).await;
    client.response().await
}

/// One request without a body on a connection of its own.
pub(crate) async fn request(
    rehearsal: &Rehearsal,
    method: &str,
    path: &str,
    host: &str,
) -> Response {
    let mut client = Client::connect(rehearsal.addr()).await;
    client
        .send(format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
        .await;
    client.response().await
}

pub(crate) async fn get(rehearsal: &Rehearsal, path: &str) -> Response {
    request(rehearsal, "GET", path, "127.0.0.1").await
}

//! One connection: requests in, actions out, always with an eye on whether the client is still there.

use bytes::BytesMut;
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

use crate::delivery::{Action, Delivery};
use crate::event_writer::EventWriter;
use crate::http::{
    BadRequest, Framing, Request, RequestReader, ResponseHead, chunk, end_of_chunks,
};
use crate::script::FloodRate;
use crate::stage::{Stage, error};

pub(crate) struct Connection {
    socket: TcpStream,
    inbox: BytesMut,
    stage: Arc<Stage>,
}

/// Why an answer wasn't completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The client closed or reset the connection.
    ClientGone,
    /// The script wanted the connection to end here.
    Scripted,
}

/// Bytes of further requests that are read ahead while an answer is being sent.
const READ_AHEAD_BYTES: usize = 1024 * 1024;
/// How often a flood sends what has become due.
const FLOOD_TICK: Duration = Duration::from_millis(2);
/// How long a refused request may go on arriving, so that the refusal isn't lost in a reset.
const DRAIN_TIME: Duration = Duration::from_millis(500);

impl Connection {
    pub(crate) fn new(socket: TcpStream, stage: Arc<Stage>) -> Connection {
        Connection {
            socket,
            inbox: BytesMut::new(),
            stage,
        }
    }

    /// Serves until either side ends the connection.
    pub(crate) async fn run(mut self) {
        let mut reader = RequestReader::default();
        loop {
            match self.next_request(&mut reader).await {
                Ok(Some(request)) => {
                    if !self.answer(&request).await {
                        return;
                    }
                }
                Ok(None) => return,
                Err(refusal) => return self.refuse(refusal).await,
            }
        }
    }

    async fn next_request(
        &mut self,
        reader: &mut RequestReader,
    ) -> Result<Option<Request>, BadRequest> {
        let mut continued = false;
        loop {
            if let Some(request) = reader.advance(&mut self.inbox)? {
                return Ok(Some(request));
            }
            if reader.awaits_continue() && !continued {
                continued = true;
                if self.send(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_err() {
                    return Ok(None);
                }
            }
            match self.socket.read_buf(&mut self.inbox).await {
                Ok(0) | Err(_) => return Ok(None),
                Ok(_) => {}
            }
        }
    }

    /// Answers one request; false when the connection is over.
    async fn answer(&mut self, request: &Request) -> bool {
        let stage = Arc::clone(&self.stage);
        let Ok(cue) = self.while_client_stays(stage.answer(request)).await else {
            return false;
        };
        let outcome = self.deliver(cue.delivery, request).await;
        if let Some(seq) = cue.seq {
            stage.recording.update(seq, |recorded| {
                recorded.answered = outcome.is_ok();
                recorded.disconnected = outcome == Err(Ended::ClientGone);
            });
        }
        outcome == Ok(true)
    }

    /// Carries out the actions; true when another request may follow.
    async fn deliver(&mut self, delivery: Delivery, request: &Request) -> Result<bool, Ended> {
        let mut body = Body {
            framing: Framing::Length(0),
            split: delivery.split,
        };
        let mut due = Instant::now();
        for action in delivery.actions {
            match action {
                Action::Wait(time) => {
                    due += time;
                    self.while_client_stays(sleep_until(due)).await?;
                }
                Action::Gate(name) => {
                    let stage = Arc::clone(&self.stage);
                    self.while_client_stays(stage.gates.pass(&name)).await?;
                    due = Instant::now();
                }
                Action::Head(head) => body.framing = self.send_head(head, request).await?,
                Action::Body(bytes) => self.send_body(body, &bytes).await?,
                Action::Flood(writer, rate) => {
                    self.flood(body, &writer, rate).await?;
                    due = Instant::now();
                }
                Action::Hold => {
                    self.client_gone().await;
                    return Err(Ended::ClientGone);
                }
                Action::Reset => {
                    if let Err(error) = self.socket.set_zero_linger() {
                        log::warn!("rehearsal: can't reset the connection: {error}");
                    }
                    return Err(Ended::Scripted);
                }
                Action::Close => return Err(Ended::Scripted),
            }
        }
        match body.framing {
            Framing::Chunked => self.send(end_of_chunks()).await?,
            Framing::UntilClose => return Ok(false),
            Framing::Length(_) => {}
        }
        Ok(request.keep_alive)
    }

    async fn send_head(
        &mut self,
        mut head: ResponseHead,
        request: &Request,
    ) -> Result<Framing, Ended> {
        if head.framing == Framing::Chunked && !request.http_1_1 {
            head.framing = Framing::UntilClose;
        }
        self.send(&head.encode(!request.keep_alive)).await?;
        Ok(head.framing)
    }

    /// Sends bytes of the body, each piece of a split in a write, and in a chunk, of its own.
    async fn send_body(&mut self, body: Body, bytes: &[u8]) -> Result<(), Ended> {
        let piece_bytes = body.split.map_or(bytes.len().max(1), NonZeroUsize::get);
        for piece in bytes.chunks(piece_bytes) {
            match body.framing {
                Framing::Chunked => self.send(&chunk(piece)).await?,
                Framing::Length(_) | Framing::UntilClose => self.send(piece).await?,
            }
            if body.split.is_some() {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn flood(
        &mut self,
        body: Body,
        writer: &EventWriter,
        rate: FloodRate,
    ) -> Result<(), Ended> {
        let start = Instant::now();
        let total = (f64::from(rate.per_second) * rate.seconds).ceil() as u64;
        let mut sent = 0;
        let mut tick = start;
        while sent < total {
            let due = start.elapsed().as_secs_f64() * f64::from(rate.per_second);
            let due = (due as u64).min(total);
            while sent < due {
                let event = writer.content(&format!("{sent} "));
                self.send_body(body, &event).await?;
                sent += 1;
            }
            tick += FLOOD_TICK;
            self.while_client_stays(sleep_until(tick)).await?;
        }
        Ok(())
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Ended> {
        let (mut from_client, mut to_client) = self.socket.split();
        let inbox = &mut self.inbox;
        tokio::select! {
            biased;
            written = to_client.write_all(bytes) => written.map_err(|_| Ended::ClientGone),
            () = gone(&mut from_client, inbox) => Err(Ended::ClientGone),
        }
    }

    async fn while_client_stays<T>(&mut self, what: impl Future<Output = T>) -> Result<T, Ended> {
        tokio::select! {
            biased;
            () = self.client_gone() => Err(Ended::ClientGone),
            output = what => Ok(output),
        }
    }

    async fn client_gone(&mut self) {
        gone(&mut self.socket, &mut self.inbox).await;
    }

    /// Says why the request can't be served and ends the connection.
    async fn refuse(&mut self, refusal: BadRequest) {
        let delivery = error(
            refusal.status(),
            "invalid_request_error",
            &refusal.to_string(),
        );
        for action in delivery.actions {
            let sent = match action {
                Action::Head(head) => self.send(&head.encode(true)).await,
                Action::Body(bytes) => self.send(&bytes).await,
                _ => Ok(()),
            };
            if sent.is_err() {
                return;
            }
        }
        if self.socket.shutdown().await.is_ok() {
            let mut rest = [0; 4096];
            let drained = async { while matches!(self.socket.read(&mut rest).await, Ok(1..)) {} };
            // Whether the client stopped in time or not, the connection ends here.
            let _ = timeout(DRAIN_TIME, drained).await;
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Body {
    framing: Framing,
    split: Option<NonZeroUsize>,
}

/// Reads ahead until the client closes or resets the connection. A client that closes only its sending half counts as
/// gone, as it does for most servers.
async fn gone(from_client: &mut (impl AsyncReadExt + Unpin), inbox: &mut BytesMut) {
    while inbox.len() < READ_AHEAD_BYTES {
        match from_client.read_buf(inbox).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
    std::future::pending::<()>().await;
}

//! `folkmoot ask`: one send, streamed to standard output.

use std::collections::HashMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use conversation::SendMode;
use host::{
    Channel, EndpointState, EndpointStatus, Event, Events, Host, HostHandle, HostNotice,
    HostOptions, Intent, SeatView, SendMessage, Severity,
};
use serde_json::json;
use transcript::{ContextBlock, Message, MessageId, Role, SeatId, Status, ThreadId, ThreadSummary};

use super::thread::resolve;
use super::{
    AskArgs, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Failure, home, printable, read_stdin,
};

/// Longest wait for the endpoints to say what they offer, where the seats follow from it.
const ENDPOINTS_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest wait for the same, where the seats are known.
const LISTS_TIMEOUT: Duration = Duration::from_secs(2);
/// How often Ctrl+C is looked for.
const POLL: Duration = Duration::from_millis(100);
/// How long a stopped turn may take to settle.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

const TERMS: &str = "\
Using subscription accounts outside the providers' official clients may violate their terms of service and
can lead to rate limits or a suspended account. Folkmoot leaves that decision to you.
To go on, run the command once with --accept-terms-notice.";

pub(super) fn run(args: &AskArgs) -> Result<u8, Failure> {
    let text = match args.text.as_slice() {
        [dash] if dash == "-" => read_stdin()?,
        words => words.join(" "),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "the message is empty; give it as an argument or as - on standard input",
        ));
    }
    let folder = match &args.folder {
        Some(folder) => Some(folder.clone()),
        None => std::env::current_dir().ok(),
    };
    if let Some(folder) = args
        .folder
        .as_deref()
        .filter(|f| !host::is_usable_folder(f))
    {
        let why = format!("folder can't be opened: {}", folder.display());
        return Err(Failure::usage(why));
    }
    let blocks = attachments(folder.as_deref(), &args.file)?;
    let interrupted = watch_for_interrupt()?;
    let host = Host::start(HostOptions {
        folder,
        ..HostOptions::new(home()?)
    })?;
    let handle = host.handle();
    let events = handle.subscribe_to_all();
    if args.accept_terms_notice {
        handle.send(Intent::DismissTermsNotice)?;
    }
    let mut asking = Asking::new(args.json, &handle, &events, interrupted);
    let seats = asking.wait_for_seats()?;
    if asking.interrupted.load(Ordering::SeqCst) {
        host.shutdown();
        return Ok(EXIT_INTERRUPTED);
    }
    let targets = targets(&args.to, &seats, &asking.endpoints)?;
    let thread = args.thread.as_deref();
    let thread = thread.map(|id| resolve(&asking.threads, id)).transpose()?;
    if let Some(thread) = &thread {
        asking.open_thread(thread)?;
    }
    handle.send(Intent::Send(SendMessage {
        thread,
        text,
        targets,
        context_blocks: blocks,
        mode: if args.bonfire {
            SendMode::Bonfire
        } else {
            SendMode::Chat
        },
        is_draft: false,
    }))?;
    let end = asking.stream_to_end();
    // What the turn left to write is written by now, or refused.
    host.shutdown();
    asking.finish(end?)
}

fn attachments(folder: Option<&Path>, files: &[String]) -> Result<Vec<ContextBlock>, Failure> {
    files
        .iter()
        .map(|spec| {
            let (path, range) = split_range(spec)?;
            host::read_context_block(folder, &path, range)
                .map_err(|e| Failure::usage(e.to_string()))
        })
        .collect()
}

/// `src/a.rs:10-42` is lines 10 to 42, unless a file of that very name exists.
fn split_range(spec: &str) -> Result<(PathBuf, Option<[u32; 2]>), Failure> {
    let whole = PathBuf::from(spec);
    if whole.exists() {
        return Ok((whole, None));
    }
    let parsed = spec.rsplit_once(':').and_then(|(path, lines)| {
        let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
        let range: [u32; 2] = [first.parse().ok()?, last.parse().ok()?];
        Some((path, range))
    });
    match parsed {
        Some((path, range)) if 1 <= range[0] && range[0] <= range[1] => {
            Ok((PathBuf::from(path), Some(range)))
        }
        Some((path, [first, last])) => Err(Failure::usage(format!(
            "lines {first}-{last} are no range: the first is 1, and the last is not before the first ({path})"
        ))),
        None => Ok((whole, None)),
    }
}

fn targets(
    to: &[String],
    seats: &[SeatView],
    endpoints: &[EndpointStatus],
) -> Result<Option<Vec<SeatId>>, Failure> {
    let enabled = || {
        seats
            .iter()
            .map(|view| &view.seat)
            .filter(|seat| seat.enabled)
    };
    if to.is_empty() {
        return Ok(None);
    }
    if to
        .iter()
        .any(|name| name.trim_start_matches('@').eq_ignore_ascii_case("all"))
    {
        return Ok(Some(enabled().map(|seat| seat.id.clone()).collect()));
    }
    let mut chosen: Vec<SeatId> = Vec::new();
    for name in to.iter().map(|name| name.trim().trim_start_matches('@')) {
        if name.is_empty() {
            return Err(Failure::usage(
                "--to names nobody; leave it out, or name seats",
            ));
        }
        let Some(seat) = enabled().find(|seat| seat.id.as_str().eq_ignore_ascii_case(name)) else {
            let known: Vec<&str> = enabled().map(|seat| seat.id.as_str()).collect();
            return Err(Failure::usage(format!(
                "no seat is called {name:?}; at the table: {}",
                known.join(", ")
            )));
        };
        if !endpoints
            .iter()
            .any(|endpoint| endpoint.id == seat.endpoint)
        {
            return Err(Failure::usage(format!(
                "{} is to be asked at {}, but the settings have no endpoint of that name",
                seat.id, seat.endpoint
            )));
        }
        if !chosen.contains(&seat.id) {
            chosen.push(seat.id.clone());
        }
    }
    Ok(Some(chosen))
}

/// How long the endpoints may take, from the start on. Seats of the settings wait for their own endpoints only, and
/// not for long: all that the list of models adds to them is how much they can read.
fn patience_with(seats: &[SeatView], endpoints: &[EndpointStatus]) -> Duration {
    let are_configured = !seats.is_empty() && seats.iter().all(|view| !view.is_derived);
    let is_awaited = |endpoint: &EndpointStatus| {
        let is_used = |view: &SeatView| view.seat.enabled && view.seat.endpoint == endpoint.id;
        endpoint.state == EndpointState::Checking && (!are_configured || seats.iter().any(is_used))
    };
    match endpoints.iter().any(is_awaited) {
        false => Duration::ZERO,
        true if are_configured => LISTS_TIMEOUT,
        true => ENDPOINTS_TIMEOUT,
    }
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ok,
    Failed,
    Stopped,
}

struct Asking<'a> {
    json: bool,
    handle: &'a HostHandle,
    events: &'a Events,
    interrupted: Arc<AtomicBool>,
    names: HashMap<SeatId, String>,
    threads: Arc<Vec<ThreadSummary>>,
    endpoints: Arc<Vec<EndpointStatus>>,
    out: Box<dyn Write>,
    /// Why the output was not written, where its reader isn't simply gone.
    write_error: Option<std::io::Error>,
    /// Why the conversation was not saved.
    unsaved: Option<String>,
    /// Whether the last character written ended a line.
    at_line_start: bool,
}

impl<'a> Asking<'a> {
    fn new(
        json: bool,
        handle: &'a HostHandle,
        events: &'a Events,
        interrupted: Arc<AtomicBool>,
    ) -> Self {
        Self {
            json,
            handle,
            events,
            interrupted,
            names: HashMap::new(),
            threads: Arc::default(),
            endpoints: Arc::default(),
            out: Box::new(std::io::stdout()),
            write_error: None,
            unsaved: None,
            at_line_start: true,
        }
    }

    /// Waits until it is known who sits at the table; warns of what a person should know.
    fn wait_for_seats(&mut self) -> Result<Vec<SeatView>, Failure> {
        self.handle.send(Intent::Ready)?;
        let began = Instant::now();
        let mut patience = ENDPOINTS_TIMEOUT;
        let mut seats: Arc<Vec<SeatView>> = Arc::default();
        while began.elapsed() < patience && !self.interrupted.load(Ordering::SeqCst) {
            match self.events.recv_timeout(POLL) {
                Some(Event::Snapshot(snapshot)) => {
                    seats = Arc::clone(&snapshot.seats);
                    self.threads = Arc::clone(&snapshot.threads);
                    self.endpoints = Arc::clone(&snapshot.endpoints);
                    patience = patience_with(&seats, &self.endpoints);
                    for problem in &snapshot.settings_problems {
                        if problem.is_fatal {
                            // Without its settings the table may be another one than the person means.
                            self.line(&json!({"type": "done", "ok": false}));
                            return Err(Failure::usage(problem.to_string()));
                        }
                        self.warn(&problem.to_string());
                    }
                    if let Some(reason) = &snapshot.read_only {
                        self.warn(&format!("this conversation will not be saved: {reason}"));
                    }
                }
                Some(Event::Endpoints(endpoints)) => {
                    patience = patience_with(&seats, &endpoints);
                    self.endpoints = endpoints;
                }
                Some(Event::Seats(now)) => seats = now,
                _ => {}
            }
        }
        // The seats that follow from the last endpoint's answer arrive with it.
        while let Some(event) = self.events.recv_timeout(Duration::ZERO) {
            if let Event::Seats(now) = event {
                seats = now;
            }
        }
        if let Some(label) = seats.iter().find_map(|view| view.demo_label) {
            self.warn(label);
        }
        self.names = seats
            .iter()
            .map(|v| (v.seat.id.clone(), v.seat.display_name.clone()))
            .collect();
        Ok(seats.to_vec())
    }

    fn open_thread(&mut self, id: &ThreadId) -> Result<(), Failure> {
        self.handle.send(Intent::SwitchThread(id.clone()))?;
        let deadline = Instant::now() + ENDPOINTS_TIMEOUT;
        while Instant::now() < deadline {
            match self.events.recv_timeout(POLL) {
                Some(Event::ThreadOpened(thread)) if thread.id == *id => return Ok(()),
                Some(Event::Notices(notices)) => {
                    let refusal = |n: &&HostNotice| {
                        n.severity == Severity::Error && n.text.contains(id.as_str())
                    };
                    if let Some(notice) = notices.iter().find(refusal) {
                        return Err(Failure::usage(notice.text.clone()));
                    }
                }
                _ => {}
            }
        }
        Err(Failure::usage(format!(
            "thread could not be opened: {id}; see `folkmoot thread list`"
        )))
    }

    fn note_unsaved(&mut self, notices: &[HostNotice]) {
        let refusal = |n: &&HostNotice| n.is_persistent && n.severity == Severity::Error;
        self.unsaved = notices.iter().find(refusal).map(|n| n.text.clone());
    }

    /// Says how it ended. It is no success when the disk did not take the conversation, or the output not all of it.
    fn finish(&mut self, end: End) -> Result<u8, Failure> {
        while let Some(event) = self.events.recv_timeout(Duration::ZERO) {
            if let Event::Notices(notices) = event {
                self.note_unsaved(&notices);
            }
        }
        let ok = end == End::Ok && self.unsaved.is_none();
        self.line(&json!({"type": "done", "ok": ok}));
        if let Some(error) = &self.write_error {
            return Err(Failure::failed(format!(
                "the answer could not be written: {error} (standard output)"
            )));
        }
        match (end, &self.unsaved) {
            (End::Ok, Some(why)) => Err(Failure::failed(why.clone())),
            (End::Ok, None) => Ok(EXIT_OK),
            (End::Failed, _) => Ok(EXIT_FAILED),
            (End::Stopped, _) => Ok(EXIT_INTERRUPTED),
        }
    }

    fn stream_to_end(&mut self) -> Result<End, Failure> {
        let mut thread: Option<ThreadId> = None;
        let mut stop_deadline: Option<Instant> = None;
        loop {
            if self.interrupted.load(Ordering::SeqCst) && stop_deadline.is_none() {
                stop_deadline = Some(Instant::now() + STOP_TIMEOUT);
                if let Some(thread) = &thread {
                    self.handle.send(Intent::Stop(thread.clone()))?;
                }
            }
            if stop_deadline.is_some_and(|at| Instant::now() > at || thread.is_none()) {
                return Ok(End::Stopped);
            }
            let Some(event) = self.events.recv_timeout(POLL) else {
                continue;
            };
            match event {
                Event::MessageAdded(id, message) => {
                    if thread.is_none() {
                        self.line(&json!({"type": "thread", "id": id}));
                        thread = Some(id);
                    }
                    self.message_added(&message);
                }
                Event::Delta(delta) => self.delta(delta.channel, &delta.message, &delta.text),
                Event::MessageChanged(_, message) if message.role() == Role::Assistant => {
                    self.message_settled(&message);
                }
                Event::Warning(_, text) => self.warn(&text),
                Event::RateLimited { seat, wait_secs } => {
                    self.warn(&format!("{} asks to wait {wait_secs} s", self.name(&seat)));
                }
                Event::SendRefused { reason, .. } => {
                    let reason = if reason == host::TERMS_REASON {
                        TERMS.to_owned()
                    } else {
                        reason
                    };
                    self.line(&json!({"type": "done", "ok": false}));
                    return Err(Failure::usage(reason));
                }
                Event::Notices(notices) => {
                    self.note_unsaved(&notices);
                    for notice in notices.iter().filter(|n| n.severity == Severity::Error) {
                        self.warn(&notice.text);
                    }
                }
                Event::TurnEnded { thread: id, ok, .. } if Some(&id) == thread.as_ref() => {
                    let stopped = self.interrupted.load(Ordering::SeqCst);
                    return Ok(if stopped {
                        End::Stopped
                    } else if ok {
                        End::Ok
                    } else {
                        End::Failed
                    });
                }
                Event::Ended => {
                    return Err(Failure::failed("the host ended before the answer did"));
                }
                _ => {}
            }
        }
    }

    fn message_added(&mut self, message: &Message) {
        if message.role() != Role::Assistant {
            return;
        }
        self.line(&json!({"type": "start", "seat": message.speaker(), "message_id": message.id()}));
        let name = self.name(message.speaker());
        self.heading(&name);
    }

    fn delta(&mut self, channel: Channel, message: &MessageId, text: &str) {
        let kind = match channel {
            Channel::Reply => "delta",
            Channel::Reasoning => "reasoning",
        };
        self.line(&json!({"type": kind, "message_id": message, "text": text}));
        if channel == Channel::Reply {
            self.text(text);
        }
    }

    fn message_settled(&mut self, message: &Message) {
        self.line(&json!({
            "type": "message",
            "message_id": message.id(),
            "seat": message.speaker(),
            "status": message.status(),
            "content": message.content(),
            "error": message.error(),
            "usage": message.usage(),
        }));
        self.end_line();
        let name = self.name(message.speaker());
        match (message.status(), message.error()) {
            (Status::Error, error) => {
                self.complain(&format!("{name}: {}", error.unwrap_or("failed")));
            }
            (Status::Cancelled, Some(error)) => self.complain(&format!("{name}: {error}")),
            (Status::Cancelled, None) => self.complain(&format!("{name}: stopped")),
            (Status::Complete, Some(note)) => self.complain(&format!("{name}: {note}")),
            _ => {}
        }
    }

    fn name(&self, seat: &SeatId) -> String {
        self.names
            .get(seat)
            .cloned()
            .unwrap_or_else(|| seat.to_string())
    }

    /// A JSON line, in JSON mode.
    fn line(&mut self, value: &serde_json::Value) {
        if self.json {
            self.write(&format!("{value}\n"));
        }
    }

    fn heading(&mut self, name: &str) {
        if !self.json {
            self.end_line();
            let bold = std::io::stdout().is_terminal();
            let (on, off) = if bold {
                ("\x1b[1m", "\x1b[0m")
            } else {
                ("", "")
            };
            self.write(&format!("{on}[{}]{off}\n", printable(name)));
        }
    }

    /// Reply text. Control characters of the model must not drive the person's terminal.
    fn text(&mut self, text: &str) {
        if self.json {
            return;
        }
        let safe = printable(text);
        if !safe.is_empty() {
            self.at_line_start = safe.ends_with('\n');
            self.write(&safe);
        }
    }

    fn end_line(&mut self) {
        if !self.json && !self.at_line_start {
            self.write("\n");
            self.at_line_start = true;
        }
    }

    fn warn(&mut self, text: &str) {
        self.line(&json!({"type": "warning", "text": text}));
        if !self.json {
            self.complain(text);
        }
    }

    fn complain(&mut self, text: &str) {
        if !self.json {
            self.end_line();
            let _closed = writeln!(std::io::stderr(), "folkmoot: {}", printable(text));
        }
    }

    /// Writes and flushes. When the reader has gone away, the turn is stopped and what arrived is kept.
    fn write(&mut self, text: &str) {
        if self.write_error.is_some() {
            return;
        }
        let written = self.out.write_all(text.as_bytes());
        if let Err(error) = written.and_then(|()| self.out.flush()) {
            self.interrupted.store(true, Ordering::SeqCst);
            if error.kind() != std::io::ErrorKind::BrokenPipe {
                self.write_error = Some(error);
            }
        }
    }
}

/// A flag that the first Ctrl+C or TERM sets; the second one ends the program as usual.
fn watch_for_interrupt() -> std::io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new()?
    };
    let raised = Arc::clone(&flag);
    std::thread::spawn(move || {
        runtime.block_on(async {
            signals.next().await;
            raised.store(true, Ordering::SeqCst);
            signals.next().await;
            std::process::exit(i32::from(EXIT_INTERRUPTED));
        });
    });
    Ok(flag)
}

/// What a person or a shell stops a program with. From its making on, none ends the program by itself.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// What a person stops a program with. From its making on, it doesn't end the program by itself.
#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        let _ended = self.0.recv().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_file_are_named_after_a_colon() {
        let split = |spec: &str| split_range(spec).ok();
        let file = |name: &str, range| Some((PathBuf::from(name), range));
        assert_eq!(split("a.rs"), file("a.rs", None));
        assert_eq!(split("a.rs:10-42"), file("a.rs", Some([10, 42])));
        assert_eq!(split("a.rs:7"), file("a.rs", Some([7, 7])));
        assert_eq!(split("C:x"), file("C:x", None));
        assert_eq!(split("a.rs:9-2"), None);
        assert_eq!(split("a.rs:0"), None);
    }
}

//! `folkmoot thread`: what lies in the data folder, without a window.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufWriter, IsTerminal as _, Write as _};

use serde_json::json;
use transcript::{Journal, Thread, ThreadId, ThreadStore, ThreadSummary, Timestamp};

use super::{EXIT_OK, ExportFormat, Failure, ThreadCommand, home, print, printable};

pub(super) fn run(command: &ThreadCommand) -> Result<u8, Failure> {
    let (mut store, notices) = ThreadStore::open(&home()?, Timestamp::now())?;
    for notice in notices {
        let _closed = writeln!(std::io::stderr(), "folkmoot: {}", notice.text);
    }
    match command {
        ThreadCommand::List { json, all } => list(&store, *json, *all),
        ThreadCommand::Show { id, json: true } => export(&mut store, id, ExportFormat::Json),
        ThreadCommand::Show { id, json: false } => show(&mut store, id),
        ThreadCommand::Export { id, format } => export(&mut store, id, *format),
        ThreadCommand::Fork { id, at } => fork(&mut store, id, *at),
        ThreadCommand::Delete { id } => {
            let id = resolve(&store.list(), id)?;
            store.delete(&id)?;
            print(
                format!("moved to the bin; `folkmoot thread restore {id}` brings it back\n")
                    .as_bytes(),
            )
        }
        ThreadCommand::PurgeJournal { id } => {
            let id = resolve(&store.list(), id)?;
            Journal::open(&home()?, store.access()).purge(&id)?;
            Ok(EXIT_OK)
        }
        ThreadCommand::Restore { id: None } => {
            let ids: Vec<String> = store.deleted()?.iter().map(ToString::to_string).collect();
            print((ids.join("\n") + if ids.is_empty() { "" } else { "\n" }).as_bytes())
        }
        ThreadCommand::Restore { id: Some(id) } => {
            let id = ThreadId::from(id.as_str());
            if !store.deleted()?.contains(&id) {
                return Err(Failure::usage(format!("the bin has no thread {id}")));
            }
            store.restore(&id, Timestamp::now())?;
            Ok(EXIT_OK)
        }
    }
}

fn list(store: &ThreadStore, as_json: bool, all: bool) -> Result<u8, Failure> {
    let threads: Vec<ThreadSummary> = store
        .list()
        .into_iter()
        .filter(|t| all || !t.archived)
        .collect();
    let mut text = String::new();
    if as_json {
        let rows: Vec<_> = threads
            .iter()
            .map(|t| json!({"id": t.id, "title": t.title, "updatedAt": t.updated_at, "messages": t.messages}))
            .collect();
        text = serde_json::to_string_pretty(&rows)?;
        text.push('\n');
    } else {
        for thread in &threads {
            let day = thread.updated_at.to_string();
            let title = if thread.title.is_empty() {
                "(no title)"
            } else {
                &thread.title
            };
            let _infallible = writeln!(
                text,
                "{}  {}  {:>5}  {}",
                thread.id,
                day.get(..16).unwrap_or(&day).replace('T', " "),
                thread.messages,
                printable(title)
            );
        }
    }
    print(text.as_bytes())
}

fn show(store: &mut ThreadStore, id: &str) -> Result<u8, Failure> {
    let thread = load(store, id)?;
    let mut bytes = Vec::new();
    as_markdown(&thread, &mut bytes)?;
    print(printable(&String::from_utf8_lossy(&bytes)).as_bytes())
}

fn as_markdown(thread: &transcript::Thread, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    transcript::export_markdown(thread.title(), thread.messages(), &HashMap::new(), out)
}

fn export(store: &mut ThreadStore, id: &str, format: ExportFormat) -> Result<u8, Failure> {
    if std::io::stdout().is_terminal() && matches!(format, ExportFormat::Markdown) {
        // A file gets every byte; a terminal must not be driven by what a model wrote.
        return show(store, id);
    }
    let thread = load(store, id)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let written = match format {
        ExportFormat::Json => transcript::export_json(&thread, &mut out),
        ExportFormat::Markdown => as_markdown(&thread, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(EXIT_OK),
    }
}

fn fork(store: &mut ThreadStore, id: &str, at: Option<u64>) -> Result<u8, Failure> {
    let thread = load(store, id)?;
    let last = thread.messages().last().map(|m| m.seq());
    if let (Some(at), last) = (at, last.unwrap_or(0))
        && at > last
    {
        return Err(Failure::usage(format!(
            "the thread ends at message {last}; there is no message {at}"
        )));
    }
    let fork = thread.fork(at.or(last), ThreadId::generate(), Timestamp::now());
    store.create(&fork)?;
    print(format!("{}\n", fork.id()).as_bytes())
}

fn load(store: &mut ThreadStore, id: &str) -> Result<Thread, Failure> {
    let id = resolve(&store.list(), id)?;
    let (thread, notices) = store.load(&id, Timestamp::now())?;
    for notice in notices {
        let _closed = writeln!(std::io::stderr(), "folkmoot: {}", notice.text);
    }
    Ok(thread)
}

/// The thread whose id is `id`, or the one whose id begins so.
pub(super) fn resolve(threads: &[ThreadSummary], id: &str) -> Result<ThreadId, Failure> {
    if id.is_empty() {
        return Err(Failure::usage(
            "the thread's id is empty; see `folkmoot thread list --all`",
        ));
    }
    let mut found = threads.iter().filter(|t| t.id.as_str().starts_with(id));
    if let Some(exact) = threads.iter().find(|t| t.id.as_str() == id) {
        return Ok(exact.id.clone());
    }
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one.id.clone()),
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "several threads begin with {id}; give more of the id"
        ))),
        _ => Err(Failure::usage(format!(
            "no thread {id}; see `folkmoot thread list --all`"
        ))),
    }
}

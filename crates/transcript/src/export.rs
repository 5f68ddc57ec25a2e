//! A thread for other programs and for people: as JSON in the shape of the thread file, and as Markdown. Both are
//! written as they are made, so a long thread needs no second copy in memory.

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use crate::{BlockKind, ContextBlock, Message, Role, SeatId, Status, Thread};

/// Writes the thread in the shape of the thread file, indented. A reply that still streams is left out.
///
/// # Errors
/// Those of `out`.
pub fn export_json(thread: &Thread, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, thread)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Writes a thread, given as its title and its messages, as a Markdown document: a heading for each message with the speaker's name, what was attached
/// in fences, and a word on replies that did not end well. `names` gives the seats' display names; a seat that is
/// not in it goes by its id.
///
/// # Errors
/// Those of `out`.
pub fn export_markdown(
    title: &str,
    messages: &[Arc<Message>],
    names: &HashMap<SeatId, String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let title = match title {
        "" => "Untitled thread",
        title => title,
    };
    writeln!(out, "# {}", inline(title))?;
    for message in messages {
        write_message(message, names, &mut out)?;
    }
    out.flush()
}

fn write_message(
    message: &Message,
    names: &HashMap<SeatId, String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let speaker = match (names.get(message.speaker()), message.role()) {
        (Some(name), _) => name.as_str(),
        (None, Role::User) => "User",
        (None, Role::System) => "Note",
        (None, Role::Assistant) => message.speaker().as_str(),
    };
    let mark = match (message.status(), message.error()) {
        (Status::Complete, _) => "",
        (Status::Streaming, _) => " (still writing)",
        (Status::Error, _) => " (failed)",
        // A reason is there when it was not the person who stopped it.
        (Status::Cancelled, None) => " (stopped)",
        (Status::Cancelled, Some(_)) => " (cut off)",
        (Status::Deleted, _) => " (deleted)",
    };
    write!(out, "\n## {}{mark}\n", inline(speaker))?;
    for block in message.context_blocks() {
        write_block(block, out)?;
    }
    let content = message.content();
    if !content.trim().is_empty() {
        write!(out, "\n{}\n", content.trim_end_matches(['\n', '\r']))?;
        if let Some(fence) = open_fence(content) {
            writeln!(out, "{fence}")?;
        }
    }
    if let Some(error) = message.error() {
        writeln!(out)?;
        for line in error.lines() {
            writeln!(out, "> {line}")?;
        }
    }
    Ok(())
}

fn write_block(block: &ContextBlock, out: &mut dyn Write) -> io::Result<()> {
    let what = match block.kind {
        BlockKind::File => "File",
        BlockKind::Selection => "Selection",
    };
    let code = "`".repeat(longest_run(&block.path) + 1);
    let path = block.path.replace(['\n', '\r'], " ");
    let range = block
        .range
        .map_or_else(String::new, |[first, last]| format!(":{first}-{last}"));
    write!(out, "\n{what} {code}{path}{range}{code}\n\n")?;
    let fence = "`".repeat(longest_run(&block.content).max(2) + 1);
    let language = block
        .path
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    let plain = language.chars().all(|c| c.is_ascii_alphanumeric());
    writeln!(out, "{fence}{}", if plain { language } else { "" })?;
    out.write_all(block.content.as_bytes())?;
    if !block.content.is_empty() && !block.content.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    writeln!(out, "{fence}")
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or(0)
}

/// Text for a heading: one line, with nothing in it that Markdown would read.
fn inline(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '&' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// What closes the code block that a text leaves open (CommonMark, fenced code blocks), so that a reply that
/// was stopped in the middle of code doesn't swallow the messages after it.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = line.trim_start_matches(' ');
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            continue;
        };
        let run = line.len() - line.trim_start_matches(mark).len();
        let rest = &line[run..];
        if run < 3 || indent > 3 {
            continue;
        }
        match open {
            None if mark == '~' || !rest.contains('`') => open = Some((mark, run)),
            Some((opened, len)) if opened == mark && run >= len && rest.trim().is_empty() => {
                open = None;
            }
            _ => {}
        }
    }
    open.map(|(mark, len)| mark.to_string().repeat(len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewMessage, Route, Settlement, Timestamp};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn thread() -> Thread {
        let mut thread = Thread::new("t".into(), NOW);
        thread.seat(&"gpt".into()).unwrap();
        thread.seat(&"claude".into()).unwrap();
        let block = ContextBlock {
            kind: BlockKind::Selection,
            path: "doc/a.md".into(),
            range: Some([10, 42]),
            content: "````\ncode\n````".into(),
            extra: serde_json::Map::new(),
        };
        let asked = NewMessage {
            context_blocks: vec![block],
            ..NewMessage::user("Why *this*?")
        };
        thread.append(asked, "m0".into(), NOW).unwrap();
        let route = Route {
            endpoint: "rehearsal".into(),
            model: "m".into(),
            extra: serde_json::Map::new(),
        };
        let ends = [
            (
                "claude",
                "Because:\n\n```rust\nfn",
                Settlement::cancelled(None),
            ),
            ("gpt", "", Settlement::error("429: slow down\ntry later")),
            (
                "gpt",
                "half",
                Settlement::cancelled(Some("cut off: no finish reason".into())),
            ),
            ("gpt", "secret", Settlement::complete()),
        ];
        for (nth, (seat, text, end)) in ends.into_iter().enumerate() {
            let id = format!("r{nth}").as_str().into();
            let reply = NewMessage::reply(seat.into(), route.clone());
            let reply = thread.append(reply, id, NOW).unwrap();
            thread.grow(reply.id(), text).unwrap();
            thread.settle(reply.id(), end, NOW).unwrap();
        }
        thread.tombstone(&"r3".into(), NOW).unwrap();
        thread
    }

    #[test]
    fn a_thread_reads_well_as_markdown() {
        let names = HashMap::from([("claude".into(), "Claude".to_owned())]);
        let mut out = Vec::new();
        let thread = thread();
        export_markdown(thread.title(), thread.messages(), &names, &mut out).unwrap();
        let expected = "\
# Why \\*this\\*?

## User

Selection `doc/a.md:10-42`

`````md
````
code
````
`````

Why *this*?

## Claude (stopped)

Because:

```rust
fn
```

## gpt (failed)

> 429: slow down
> try later

## gpt (cut off)

half

> cut off: no finish reason

## gpt (deleted)
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn exported_json_is_a_thread_file() {
        let thread = thread();
        let mut out = Vec::new();
        export_json(&thread, &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<Thread>(&out).unwrap(), thread);
    }

    /// Counts what it is given, and remembers the largest piece.
    #[derive(Default)]
    struct Gauge {
        total: usize,
        largest: usize,
    }

    impl Write for Gauge {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.total += bytes.len();
            self.largest = self.largest.max(bytes.len());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_export_never_holds_more_than_a_message_in_memory() {
        let words = "Some words. ".repeat(10_000);
        let mut thread = Thread::new("t".into(), NOW);
        for nth in 0..100 {
            let id = format!("m{nth}").as_str().into();
            thread
                .append(NewMessage::user(words.as_str()), id, NOW)
                .unwrap();
        }
        let (mut json, mut markdown) = (Gauge::default(), Gauge::default());
        export_json(&thread, &mut json).unwrap();
        let (title, messages) = (thread.title(), thread.messages());
        export_markdown(title, messages, &HashMap::new(), &mut markdown).unwrap();
        for gauge in [json, markdown] {
            assert!(gauge.total > 100 * words.len());
            assert!(gauge.largest < 2 * words.len());
        }
    }

    #[test]
    fn only_a_fence_that_is_left_open_is_closed() {
        let open = |text| open_fence(text);
        assert_eq!(open("a\n```\nb\n```\nc"), None);
        assert_eq!(open("a\n~~~~ x\n~~~\n```"), Some("~~~~".into()));
        assert_eq!(open("````\n```\n"), Some("````".into()));
        assert_eq!(open("```a`b\n    ```"), None);
    }
}

//! The layout in which thread files are written: a line for everything but the messages, a line for each message.
//!
//! It is plain JSON. Since JSON strings hold no line feeds, the lines of a long thread can be read through a small
//! buffer; a file of any other layout is left to the general reader.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use crate::{Message, Thread};

/// What ends the first line.
const MESSAGES_FOLLOW: &[u8] = b"\"messages\":[";

/// What the last line is.
const END: &[u8] = b"]}";

/// Bytes that are read and parsed at a time.
const PIECE: usize = 1 << 17;

/// Bytes at the end of a file in which its last messages are looked for.
const END_PIECE: u64 = 1 << 18;

/// Writes a thread file. A message that still streams is there as if it ended now.
pub(crate) fn write_thread(thread: &Thread, out: &mut dyn Write) -> io::Result<()> {
    let mut header = serde_json::to_vec(&thread.header())?;
    header.pop();
    out.write_all(&header)?;
    out.write_all(b",")?;
    out.write_all(MESSAGES_FOLLOW)?;
    for (place, message) in thread.messages().iter().enumerate() {
        out.write_all(if place == 0 { b"\n" } else { b",\n" })?;
        if message.status().is_terminal() {
            serde_json::to_writer(&mut *out, message)?;
        } else {
            serde_json::to_writer(&mut *out, &message.as_interrupted())?;
        }
    }
    out.write_all(b"\n")?;
    out.write_all(END)?;
    out.write_all(b"\n")
}

/// Reads a thread file of this layout; `None` if anything in it is not as it is written here, so that the general
/// reader would say what it is, or what is wrong.
pub(crate) fn read_by_line(file: File) -> io::Result<Option<Thread>> {
    LineReader::new(file).thread()
}

/// How a long thread ends, read before the rest of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadEnd {
    /// Its title; may be empty.
    pub title: String,
    /// Its last messages, in order, each of them settled.
    pub messages: Vec<Arc<Message>>,
}

/// How a thread file of this layout ends, without reading what lies between; `None` for a
/// file that is short, or not of this layout. Nothing is checked that only the whole could tell.
pub(crate) fn read_end_by_line(mut file: File) -> io::Result<Option<ThreadEnd>> {
    let len = file.metadata()?.len();
    if len < 4 * END_PIECE {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(len - END_PIECE))?;
    let mut end = Vec::with_capacity(END_PIECE as usize);
    (&mut file).take(END_PIECE).read_to_end(&mut end)?;
    file.rewind()?;
    let header = LineReader::new(file)
        .next_line()?
        .and_then(without_messages);
    let Some(thread) = header else {
        return Ok(None);
    };
    let messages = last_messages(&end);
    Ok(messages.map(|messages| ThreadEnd {
        title: thread.title().to_owned(),
        messages,
    }))
}

/// The messages of the whole lines in the end of a thread file.
fn last_messages(end: &[u8]) -> Option<Vec<Arc<Message>>> {
    let lines = end.strip_suffix(b"\n]}\n")?;
    let first = memchr::memchr(b'\n', lines)? + 1;
    let mut messages: Vec<Arc<Message>> = Vec::new();
    for line in lines[first..].split(|byte| *byte == b'\n') {
        let json = std::str::from_utf8(line.strip_suffix(b",").unwrap_or(line)).ok()?;
        let message: Message = serde_json::from_str(json).ok()?;
        let follows = messages
            .last()
            .is_none_or(|before| before.seq() + 1 == message.seq());
        if !follows || !message.status().is_terminal() {
            return None;
        }
        messages.push(Arc::new(message));
    }
    Some(messages)
}

struct LineReader {
    file: File,
    buffer: Vec<u8>,
    /// What of the buffer is filled and not yet used.
    unread: Range<usize>,
}

impl LineReader {
    fn new(file: File) -> Self {
        Self {
            file,
            buffer: vec![0; PIECE],
            unread: 0..0,
        }
    }

    fn thread(mut self) -> io::Result<Option<Thread>> {
        let Some(mut thread) = self.next_line()?.and_then(without_messages) else {
            return Ok(None);
        };
        let mut more = true;
        loop {
            let line = match self.next_line()? {
                Some(END) if !more || thread.messages().is_empty() => break,
                Some(line) if more => line,
                _ => return Ok(None),
            };
            let message = line.strip_suffix(b",");
            more = message.is_some();
            let read = std::str::from_utf8(message.unwrap_or(line))
                .ok()
                .and_then(|json| serde_json::from_str(json).ok())
                .is_some_and(|message| thread.restore_next(message).is_ok());
            if !read {
                return Ok(None);
            }
        }
        let at_end = self.next_line()?.is_none() && self.unread.is_empty();
        Ok(at_end.then_some(thread))
    }

    /// The next line without its line feed; `None` behind the last one.
    fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(at) = memchr::memchr(b'\n', &unread[searched..]) {
                let start = self.unread.start;
                let end = start + searched + at;
                self.unread.start = end + 1;
                return Ok(Some(&self.buffer[start..end]));
            }
            searched = unread.len();
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Reads on behind what is not used yet, which moves to the front; false at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.unread.end == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let count = self.file.read(&mut self.buffer[self.unread.end..])?;
        self.unread.end += count;
        Ok(count > 0)
    }
}

/// What the first line of a thread file tells.
fn without_messages(line: &[u8]) -> Option<Thread> {
    line.ends_with(MESSAGES_FOLLOW).then_some(())?;
    serde_json::from_slice(&[line, b"]}"].concat()).ok()
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use proptest::prelude::*;

    use super::*;
    use crate::{NewMessage, Timestamp};

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file.rewind().unwrap();
        file
    }

    fn thread_of(contents: &[String]) -> (Thread, Vec<u8>) {
        let now = Timestamp::UNIX_EPOCH;
        let mut thread = Thread::new("t".into(), now);
        for (nth, content) in contents.iter().enumerate() {
            let id = format!("m{nth}").as_str().into();
            thread
                .append(NewMessage::user(content.as_str()), id, now)
                .unwrap();
        }
        let mut bytes = Vec::new();
        write_thread(&thread, &mut bytes).unwrap();
        (thread, bytes)
    }

    #[test]
    fn what_is_written_by_line_is_read_by_line_whatever_its_length() {
        for (count, len) in [
            (0, 0),
            (1, 0),
            (3, 100),
            (1, 3 * PIECE),
            (40, PIECE / 4),
            (5_000, 900),
        ] {
            let (thread, bytes) = thread_of(&vec!["é\n".repeat(len / 3); count]);
            assert_eq!(read_by_line(file_of(&bytes)).unwrap(), Some(thread.clone()));
            assert_eq!(serde_json::from_slice::<Thread>(&bytes).unwrap(), thread);
        }
    }

    #[test]
    fn another_layout_is_left_to_the_general_reader() {
        let (thread, _) = thread_of(&["a".into(), "b".into()]);
        for bytes in [
            serde_json::to_vec(&thread).unwrap(),
            serde_json::to_vec_pretty(&thread).unwrap(),
            Vec::new(),
        ] {
            assert_eq!(read_by_line(file_of(&bytes)).unwrap(), None);
        }
    }

    #[test]
    fn damage_far_into_a_long_file_is_left_to_the_general_reader() {
        let (_, mut bytes) = thread_of(&vec!["x".repeat(PIECE / 2); 9]);
        let at = bytes.len() - PIECE;
        let comma = at + memchr::memmem::find(&bytes[at..], b"},\n").unwrap() + 1;
        bytes[comma] = b' ';
        assert_eq!(read_by_line(file_of(&bytes)).unwrap(), None);
    }

    proptest! {
        #[test]
        fn it_never_reads_what_the_general_reader_refuses(
            contents in proptest::collection::vec("\\PC{0,5}", 0..4),
            at in any::<prop::sample::Index>(),
            insert in prop::sample::select(vec![&b"\n"[..], b",\n", b",", b"]}\n", b"", b"x", b"\xff"]),
            remove in 0usize..4,
        ) {
            let (_, mut bytes) = thread_of(&contents);
            let at = at.index(bytes.len());
            let end = bytes.len().min(at + remove);
            bytes.splice(at..end, insert.iter().copied());
            if let Some(thread) = read_by_line(file_of(&bytes)).unwrap() {
                prop_assert_eq!(serde_json::from_slice::<Thread>(&bytes).unwrap(), thread);
            }
        }
    }
}

//! The run journal: what happened during turns and is no part of the conversation. Reasoning, requests,
//! usage, inner steps. It feeds cards and review by the person, never a prompt.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::Disk;
use crate::journal_bodies::{self, Bodies, BodyRef};
use crate::layout::{Layout, check_id};
use crate::{Access, MessageId, StoreError, ThreadId, Timestamp};

/// What a journal record tells of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum JournalKind {
    /// A piece of a model's reasoning.
    Reasoning,
    /// What was sent to an endpoint.
    Request,
    /// What an endpoint answered.
    Response,
    /// What a request cost.
    Usage,
    /// What went wrong.
    Error,
    /// A step inside a turn that has no message of its own.
    Step,
    /// A call of a tool: what was called, how it came to be allowed, what came of it.
    Tool,
    /// A kind that another version writes.
    Other(String),
}

impl JournalKind {
    /// The kind as written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Request => "request",
            Self::Response => "response",
            Self::Usage => "usage",
            Self::Error => "error",
            Self::Step => "step",
            Self::Tool => "tool",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for JournalKind {
    fn from(name: String) -> Self {
        match name.as_str() {
            "reasoning" => Self::Reasoning,
            "request" => Self::Request,
            "response" => Self::Response,
            "usage" => Self::Usage,
            "error" => Self::Error,
            "step" => Self::Step,
            "tool" => Self::Tool,
            _ => Self::Other(name),
        }
    }
}

impl From<JournalKind> for String {
    fn from(kind: JournalKind) -> Self {
        match kind {
            JournalKind::Other(name) => name,
            known => known.as_str().to_owned(),
        }
    }
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalRecord {
    /// When it happened.
    pub at: Timestamp,
    /// In which turn of the thread.
    pub turn: u64,
    /// For which message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// What it tells of.
    pub kind: JournalKind,
    /// The rest; its shape belongs to the kind.
    #[serde(default)]
    pub data: Value,
}

/// The journals of a data folder: an append-only file of JSON lines for each thread. Appends are not synced;
/// a crash may cost the last ones.
#[derive(Debug)]
pub struct Journal {
    layout: Layout,
    disk: Disk,
    access: Access,
    enabled: bool,
    /// Journals whose end was looked at, so that a line is never glued to a torn one.
    whole: HashSet<ThreadId>,
    bodies: HashMap<ThreadId, Bodies>,
}

impl Journal {
    /// The journals of `home`, written to only if `access` (that of the thread store) allows it.
    pub fn open(home: &Path, access: &Access) -> Self {
        Self::open_with(home, access, Disk::default())
    }

    /// As [`Journal::open`], with a disk that a test may let fail.
    #[doc(hidden)]
    pub fn open_with(home: &Path, access: &Access, disk: Disk) -> Self {
        Self {
            layout: Layout::new(home),
            disk,
            access: access.clone(),
            enabled: true,
            whole: HashSet::new(),
            bodies: HashMap::new(),
        }
    }

    /// Switches recording on or off. What was recorded stays.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Adds a record. Does nothing while recording is off or the data folder is read-only.
    ///
    /// # Errors
    /// When the disk refuses; the journal then has the record wholly or not at all.
    pub fn append(&mut self, thread: &ThreadId, record: &JournalRecord) -> Result<(), StoreError> {
        check_id(thread)?;
        if !self.enabled || self.access != Access::ReadWrite {
            return Ok(());
        }
        let path = self.layout.journal(thread);
        let mut line = serde_json::to_vec(record)
            .map_err(|error| StoreError::io("encode", &path)(error.into()))?;
        line.push(b'\n');
        self.append_line(thread, &path, &line).map_err(|error| {
            self.whole.remove(thread);
            StoreError::io("write the journal", &path)(error)
        })
    }

    /// Adds a record whose long parts lie beside the journal: each is written first, and its [`BodyRef`] becomes the
    /// field of its name in the record's data, which are an object. Does nothing while recording is off or the data
    /// folder is read-only.
    ///
    /// # Errors
    /// When the disk refuses; the journal then has the record wholly or not at all.
    pub fn append_with_bodies(
        &mut self,
        thread: &ThreadId,
        mut record: JournalRecord,
        bodies: &[(&str, &[u8])],
    ) -> Result<(), StoreError> {
        check_id(thread)?;
        if !self.enabled || self.access != Access::ReadWrite {
            return Ok(());
        }
        let path = self.layout.journal_bodies(thread);
        let written = self.bodies.entry(thread.clone()).or_default();
        for (name, bytes) in bodies {
            let body = written.put(&self.disk, &path, bytes);
            let body = body.map_err(StoreError::io("write the journal", &path))?;
            let body = serde_json::to_value(body);
            record.data[*name] =
                body.map_err(|error| StoreError::io("encode", &path)(error.into()))?;
        }
        self.append(thread, &record)
    }

    /// What a record keeps beside the journal; none if it is lost: a crash may cost the last ones.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn body(&self, thread: &ThreadId, body: &BodyRef) -> Result<Option<Vec<u8>>, StoreError> {
        check_id(thread)?;
        let path = self.layout.journal_bodies(thread);
        journal_bodies::read(&path, body).map_err(StoreError::io("read", &path))
    }

    fn append_line(&mut self, thread: &ThreadId, path: &Path, line: &[u8]) -> io::Result<()> {
        let mut file = self.disk.open(path)?;
        let end = if self.whole.contains(thread) {
            file.metadata()?.len()
        } else {
            end_of_lines(&mut file)?
        };
        self.disk.append(&mut file, path, end, line)?;
        self.whole.insert(thread.clone());
        Ok(())
    }

    /// The records of a thread, oldest first; none if it has no journal.
    ///
    /// # Errors
    /// When the journal can't be opened.
    pub fn read(&self, thread: &ThreadId) -> Result<JournalReader, StoreError> {
        check_id(thread)?;
        let path = self.layout.journal(thread);
        let lines = match File::open(&path) {
            Ok(file) => Some(BufReader::with_capacity(128 * 1024, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(StoreError::io("read", &path)(error)),
        };
        Ok(JournalReader {
            lines,
            path,
            line: Vec::new(),
        })
    }

    /// The records that belong to a message, oldest first.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub fn of_message(
        &self,
        thread: &ThreadId,
        message: &MessageId,
    ) -> Result<Vec<JournalRecord>, StoreError> {
        let mut reader = self.read(thread)?;
        // An id that JSON writes in another way than as it is (rare) is not looked for by its bytes.
        let plain = !message
            .as_str()
            .contains(|c: char| c == '"' || c == '\\' || c.is_control());
        let finder = memmem::Finder::new(if plain { message.as_str() } else { "" });
        let mut records = Vec::new();
        while reader.advance()? {
            if finder.find(&reader.line).is_none() {
                continue;
            }
            let record = reader.record();
            records.extend(record.filter(|record| record.message_id.as_ref() == Some(message)));
        }
        Ok(records)
    }

    /// Size of a thread's journal in bytes, with what lies beside it.
    pub fn size(&self, thread: &ThreadId) -> u64 {
        let files = [
            self.layout.journal(thread),
            self.layout.journal_bodies(thread),
        ];
        let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
        files.iter().map(size).sum()
    }

    /// Removes a thread's journal for good, with what lies beside it.
    ///
    /// # Errors
    /// When the data folder is read-only or the disk refuses.
    pub fn purge(&mut self, thread: &ThreadId) -> Result<(), StoreError> {
        check_id(thread)?;
        if let Access::ReadOnly { reason } = &self.access {
            return Err(StoreError::ReadOnly {
                reason: reason.clone(),
            });
        }
        self.whole.remove(thread);
        self.bodies.remove(thread);
        // The lines go last: what they name may be gone, what they don't name would stay for ever.
        for path in [
            self.layout.journal_bodies(thread),
            self.layout.journal(thread),
        ] {
            let removed = self.disk.remove(&path);
            removed.map_err(StoreError::io("remove", &path))?;
        }
        Ok(())
    }
}

/// Where the last whole line ends.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(SeekFrom::Start(start))?;
        bytes.clear();
        file.by_ref().take(end - start).read_to_end(&mut bytes)?;
        if let Some(at) = memchr::memrchr(b'\n', &bytes) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Reads a journal record by record. Lines that hold none are skipped.
#[derive(Debug)]
pub struct JournalReader {
    lines: Option<BufReader<File>>,
    path: PathBuf,
    line: Vec<u8>,
}

impl JournalReader {
    /// Goes to the next whole line.
    fn advance(&mut self) -> Result<bool, StoreError> {
        self.line.clear();
        let Some(lines) = &mut self.lines else {
            return Ok(false);
        };
        lines
            .read_until(b'\n', &mut self.line)
            .map_err(StoreError::io("read", &self.path))?;
        Ok(self.line.last() == Some(&b'\n'))
    }

    fn record(&self) -> Option<JournalRecord> {
        serde_json::from_slice(&self.line)
            .inspect_err(|error| {
                log::warn!("a line is no record: {error}: {}", self.path.display());
            })
            .ok()
    }
}

impl Iterator for JournalReader {
    type Item = Result<JournalRecord, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.advance() {
                Ok(true) => {
                    if let Some(record) = self.record() {
                        return Some(Ok(record));
                    }
                }
                Ok(false) => return None,
                Err(error) => {
                    self.lines = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    fn piece(message: &str, text: &str) -> JournalRecord {
        JournalRecord {
            at: Timestamp::UNIX_EPOCH,
            turn: 1,
            message_id: Some(message.into()),
            kind: JournalKind::Reasoning,
            data: text.into(),
        }
    }

    fn home() -> (tempfile::TempDir, ThreadId) {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("threads")).unwrap();
        (home, "t".into())
    }

    fn texts(journal: &Journal, thread: &ThreadId) -> Vec<String> {
        let records = journal.read(thread).unwrap().map(Result::unwrap);
        records
            .map(|r| r.data.as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn what_belongs_to_a_message_is_found_and_kinds_of_other_versions_survive() {
        let (home, thread) = home();
        let mut journal = Journal::open(home.path(), &Access::ReadWrite);
        let foreign = JournalRecord {
            kind: JournalKind::Other("approval".into()),
            ..piece("a", "not reasoning")
        };
        for record in [
            &piece("a", "Let me "),
            &piece("b", "no"),
            &foreign,
            &piece("a", "think\n…"),
        ] {
            journal.append(&thread, record).unwrap();
        }
        let of = |message: &str| journal.of_message(&thread, &message.into()).unwrap();
        let texts: Vec<_> = of("a").into_iter().map(|record| record.data).collect();
        assert_eq!(texts, ["Let me ", "not reasoning", "think\n…"]);
        assert_eq!(of("c"), []);
        let read: Vec<_> = journal.read(&thread).unwrap().map(Result::unwrap).collect();
        assert_eq!(read[2], foreign);
        let none = journal.of_message(&"none".into(), &"a".into());
        assert_eq!(none.unwrap(), []);
    }

    #[test]
    fn a_torn_line_is_dropped_and_later_ones_stand_on_their_own() {
        let (home, thread) = home();
        let mut journal = Journal::open(home.path(), &Access::ReadWrite);
        journal.append(&thread, &piece("a", "one")).unwrap();
        let path = home.path().join("threads/t.journal.jsonl");
        let mut torn = OpenOptions::new().append(true).open(&path).unwrap();
        torn.write_all(&vec![b'x'; 200_000]).unwrap();
        assert_eq!(texts(&journal, &thread), ["one"]);

        let mut journal = Journal::open(home.path(), &Access::ReadWrite);
        journal.append(&thread, &piece("a", "two")).unwrap();
        assert_eq!(texts(&journal, &thread), ["one", "two"]);
        assert!(journal.size(&thread) < 1_000);
    }

    #[test]
    fn a_refused_write_leaves_no_half_line_in_front_of_the_next() {
        let (home, thread) = home();
        let full = Arc::new(AtomicBool::new(false));
        let is_full = Arc::clone(&full);
        let disk = Disk::with_hook(move |step| match step {
            crate::Step::WriteRest(_) if is_full.load(Ordering::Relaxed) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        });
        let mut journal = Journal::open_with(home.path(), &Access::ReadWrite, disk);
        journal.append(&thread, &piece("a", "one")).unwrap();
        full.store(true, Ordering::Relaxed);
        assert!(journal.append(&thread, &piece("a", "lost")).is_err());
        full.store(false, Ordering::Relaxed);
        journal.append(&thread, &piece("a", "two")).unwrap();
        assert_eq!(texts(&journal, &thread), ["one", "two"]);
    }

    fn call(text: &str) -> (JournalRecord, String) {
        let record = JournalRecord {
            kind: JournalKind::Tool,
            data: serde_json::json!({"name": "grep"}),
            ..piece("a", "")
        };
        (record, text.to_owned())
    }

    fn results(journal: &Journal, thread: &ThreadId) -> Vec<Option<String>> {
        let records = journal.read(thread).unwrap().map(Result::unwrap);
        let result = |record: JournalRecord| {
            let body: BodyRef = serde_json::from_value(record.data["result"].clone()).unwrap();
            let bytes = journal.body(thread, &body).unwrap()?;
            Some(String::from_utf8(bytes).unwrap())
        };
        records.map(result).collect()
    }

    fn put(journal: &mut Journal, thread: &ThreadId, text: &str) -> Result<(), StoreError> {
        let (record, text) = call(text);
        journal.append_with_bodies(thread, record, &[("result", text.as_bytes())])
    }

    #[test]
    fn long_parts_lie_beside_the_journal_once_and_what_a_crash_cost_is_told_from_what_is_there() {
        let (home, thread) = home();
        let mut journal = Journal::open(home.path(), &Access::ReadWrite);
        let long = "x".repeat(100_000);
        for text in [&*long, "", "two\n", &long] {
            put(&mut journal, &thread, text).unwrap();
        }
        let all = [&long, "", "two\n", &long].map(|text| Some(text.to_owned()));
        assert_eq!(results(&journal, &thread), all);
        assert!(journal.size(&thread) < 102_000);

        let bodies = home.path().join("threads/t.journal.bodies");
        let file = OpenOptions::new().write(true).open(&bodies).unwrap();
        file.set_len(bodies.metadata().unwrap().len() - 2).unwrap();
        let mut journal = Journal::open(home.path(), &Access::ReadWrite);
        put(&mut journal, &thread, "three").unwrap();
        let [long, empty, _, again] = all;
        let left = [long, empty, None, again, Some("three".to_owned())];
        assert_eq!(results(&journal, &thread), left);
        journal.purge(&thread).unwrap();
        assert_eq!(
            fs::read_dir(home.path().join("threads")).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_body_that_the_disk_refuses_leaves_no_record_and_no_gap() {
        let (home, thread) = home();
        let full = Arc::new(AtomicBool::new(false));
        let is_full = Arc::clone(&full);
        let disk = Disk::with_hook(move |step| match step {
            crate::Step::WriteRest(_) if is_full.load(Ordering::Relaxed) => {
                Err(io::ErrorKind::StorageFull.into())
            }
            _ => Ok(()),
        });
        let mut journal = Journal::open_with(home.path(), &Access::ReadWrite, disk);
        put(&mut journal, &thread, "one").unwrap();
        let bodies = home.path().join("threads/t.journal.bodies");
        let size = || bodies.metadata().unwrap().len();
        let before = size();
        full.store(true, Ordering::Relaxed);
        assert!(put(&mut journal, &thread, "lost").is_err());
        full.store(false, Ordering::Relaxed);
        put(&mut journal, &thread, "two").unwrap();
        let expected = ["one", "two"].map(|text| Some(text.to_owned()));
        assert_eq!(results(&journal, &thread), expected);
        assert_eq!(size(), before * 2);
        journal.set_enabled(false);
        put(&mut journal, &thread, "three").unwrap();
        assert_eq!(size(), before * 2);
    }

    #[test]
    fn a_crash_at_any_step_costs_at_most_the_record_that_was_being_written() {
        let texts = ["one", "two", "three"];
        for crash_at in 0.. {
            let (home, thread) = home();
            let steps = Arc::new(AtomicUsize::new(0));
            let disk = Disk::with_hook(move |_| {
                if steps.fetch_add(1, Ordering::Relaxed) >= crash_at {
                    return Err(io::Error::other("crashed"));
                }
                Ok(())
            });
            let mut crashing = Journal::open_with(home.path(), &Access::ReadWrite, disk);
            let put_all = |text: &&&str| put(&mut crashing, &thread, text).is_ok();
            let written = texts.iter().take_while(put_all).count();
            let mut journal = Journal::open(home.path(), &Access::ReadWrite);
            put(&mut journal, &thread, "after").unwrap();
            let expected = texts[..written].iter().chain(&["after"]);
            let expected: Vec<_> = expected.map(|text| Some((*text).to_owned())).collect();
            assert_eq!(results(&journal, &thread), expected, "step {crash_at}");
            if written == texts.len() {
                assert!(crash_at > 9, "the disk was asked {crash_at} times");
                return;
            }
        }
    }

    #[test]
    fn nothing_is_written_while_recording_is_off_or_the_folder_is_read_only() {
        let (home, thread) = home();
        let mut journal = Journal::open(home.path(), &Access::ReadWrite);
        journal.set_enabled(false);
        journal.append(&thread, &piece("a", "one")).unwrap();
        let reason = String::new();
        let mut other = Journal::open(home.path(), &Access::ReadOnly { reason });
        other.append(&thread, &piece("a", "one")).unwrap();
        assert!(matches!(
            other.purge(&thread),
            Err(StoreError::ReadOnly { .. })
        ));
        assert_eq!(
            fs::read_dir(home.path().join("threads")).unwrap().count(),
            0
        );
        journal.set_enabled(true);
        journal.append(&thread, &piece("a", "one")).unwrap();
        journal.purge(&thread).unwrap();
        assert_eq!(journal.size(&thread), 0);
        assert_eq!(texts(&journal, &thread), [""; 0]);
    }
}

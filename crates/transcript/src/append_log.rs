//! The append log of a live thread: what changed since the thread file was written.
//!
//! One record a line: the CRC-32 of the JSON as eight hex digits, a blank, the JSON, a line feed. Replaying is
//! idempotent: over a thread file that already holds any part of the log the outcome is the same, so
//! a crash between the writing of the file and the removal of the log costs nothing.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::thread::ThreadHeader;
use crate::{Message, Thread, ThreadId, Timestamp};

/// Length of the checksum and the blank before the JSON.
const PREFIX: usize = 9;

/// A change, as it is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Change<'a> {
    /// The header of a thread that has no file: the log holds it from its beginning.
    Begin(&'a ThreadHeader),
    /// Title, participants, the archive flag; all that isn't a message.
    Header(&'a ThreadHeader),
    /// The whole state of one message.
    #[serde(rename_all = "camelCase")]
    Put {
        updated_at: Timestamp,
        message: &'a Message,
    },
    /// More text of a reply that streams: `text` goes where the content had `at` bytes.
    Grow { seq: u64, at: usize, text: &'a str },
}

impl Change<'_> {
    /// Adds the change to `out` as one record.
    pub(crate) fn encode_into(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let start = out.len();
        out.extend_from_slice(&[b' '; PREFIX]);
        if let Err(error) = serde_json::to_writer(&mut *out, self) {
            out.truncate(start);
            return Err(error);
        }
        let checksum = format!("{:08x}", crc32fast::hash(&out[start + PREFIX..]));
        out[start..start + PREFIX - 1].copy_from_slice(checksum.as_bytes());
        out.push(b'\n');
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Record {
    Begin(ThreadHeader),
    Header(ThreadHeader),
    #[serde(rename_all = "camelCase")]
    Put {
        updated_at: Timestamp,
        message: Box<Message>,
    },
    Grow {
        seq: u64,
        at: usize,
        text: String,
    },
}

/// What of a record a list of threads needs.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Glance {
    Begin(ThreadHeader),
    Header(ThreadHeader),
    #[serde(rename_all = "camelCase")]
    Put {
        updated_at: Timestamp,
        message: Place,
    },
    Grow(IgnoredAny),
}

/// Where a put message stands.
#[derive(Deserialize)]
pub(crate) struct Place {
    pub(crate) seq: u64,
}

/// The JSON of each whole record, with the offset of its end; ends before the first that is torn or damaged.
fn records(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let length = memchr::memchr(b'\n', &bytes[start..])?;
        let json = whole_record(&bytes[start..start + length])?;
        start += length + 1;
        Some((json, start))
    })
}

fn whole_record(line: &[u8]) -> Option<&[u8]> {
    let (prefix, json) = line.split_at_checked(PREFIX)?;
    let digits = prefix.strip_suffix(b" ")?;
    let expected = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (crc32fast::hash(json) == expected).then_some(json)
}

/// How many bytes at the beginning are whole records.
pub(crate) fn whole_len(bytes: &[u8]) -> usize {
    records(bytes).last().map_or(0, |(_, end)| end)
}

/// A quick look at each whole record that this version understands.
pub(crate) fn glances(bytes: &[u8]) -> impl Iterator<Item = Glance> {
    records(bytes).map_while(|(json, _)| serde_json::from_slice(json).ok())
}

/// What a replay came to.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// The thread, unless there was none and the log doesn't hold it from its beginning.
    pub(crate) thread: Option<Thread>,
    /// How many bytes of the log were good.
    pub(crate) good_len: usize,
}

/// Applies a log to the thread it belongs to, or to nothing if it holds a thread from its beginning.
pub(crate) fn replay(base: Option<Thread>, id: &ThreadId, bytes: &[u8]) -> Replayed {
    let mut thread = base;
    let mut header: Option<ThreadHeader> = None;
    let mut updated_at = None;
    let mut good_len = 0;
    for (json, end) in records(bytes) {
        let Ok(record) = serde_json::from_slice(json) else {
            break;
        };
        if let Record::Begin(new) = &record {
            thread.get_or_insert_with(|| Thread::new(id.clone(), new.created_at));
        }
        let Some(thread) = &mut thread else { break };
        match record {
            Record::Begin(new) | Record::Header(new) => {
                updated_at = Some(new.updated_at);
                header = Some(new);
            }
            Record::Put {
                updated_at: time,
                message,
            } => {
                if thread.restore(*message).is_err() {
                    break;
                }
                updated_at = Some(time);
            }
            Record::Grow { seq, at, text } => thread.regrow(seq, at, &text),
        }
        good_len = end;
    }
    if let (Some(thread), Some(updated_at)) = (&mut thread, updated_at) {
        let mut last = header.unwrap_or_else(|| thread.header());
        last.updated_at = updated_at;
        thread.set_header(last);
    }
    Replayed { thread, good_len }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::thread_lines::write_thread;
    use crate::{MessageId, NewMessage, Route, Settlement};

    fn route() -> Route {
        Route {
            endpoint: "rehearsal".into(),
            model: "m".into(),
            extra: serde_json::Map::new(),
        }
    }

    /// A conversation as the thread after each step, and the log record of each step.
    fn conversation() -> (Vec<Thread>, Vec<Vec<u8>>) {
        let at = Timestamp::from_millis;
        let mut thread = Thread::new("t".into(), at(0));
        let mut states = Vec::new();
        let mut log = Vec::new();
        let mut step = |thread: &Thread, change: Change<'_>| {
            let mut record = Vec::new();
            change.encode_into(&mut record).unwrap();
            let mut file = Vec::new();
            write_thread(thread, &mut file).unwrap();
            states.push(serde_json::from_slice(&file).unwrap());
            log.push(record);
        };
        thread.seat(&"gpt".into()).unwrap();
        thread.rename("Why", at(0));
        step(&thread, Change::Begin(&thread.header()));
        for round in 0..2 {
            let (asked, said) = (format!("q{round}"), format!("a{round}").into());
            let message = thread
                .append(NewMessage::user("Why\n? é"), asked.as_str().into(), at(1))
                .unwrap();
            let updated_at = thread.updated_at();
            step(
                &thread,
                Change::Put {
                    updated_at,
                    message: &message,
                },
            );
            let message = thread
                .append(
                    NewMessage::reply("gpt".into(), route()),
                    MessageId::clone(&said),
                    at(2),
                )
                .unwrap()
                .as_interrupted();
            let updated_at = thread.updated_at();
            step(
                &thread,
                Change::Put {
                    updated_at,
                    message: &message,
                },
            );
            for text in ["Beca", "use é", "…"] {
                let message = thread.message(&said).unwrap();
                let (seq, before) = (message.seq(), message.content().len());
                thread.grow(&said, text).unwrap();
                step(
                    &thread,
                    Change::Grow {
                        seq,
                        at: before,
                        text,
                    },
                );
            }
            let end = Settlement {
                content: (round == 1).then(|| "No.".into()),
                ..Settlement::complete()
            };
            let message = thread.settle(&said, end, at(3)).unwrap();
            let updated_at = thread.updated_at();
            step(
                &thread,
                Change::Put {
                    updated_at,
                    message: &message,
                },
            );
        }
        let message = thread.tombstone(&"q0".into(), at(4)).unwrap();
        let updated_at = thread.updated_at();
        step(
            &thread,
            Change::Put {
                updated_at,
                message: &message,
            },
        );
        thread.rename("Named", at(5));
        step(&thread, Change::Header(&thread.header()));
        (states, log)
    }

    #[test]
    fn a_log_from_the_beginning_is_the_whole_thread() {
        let (states, log) = conversation();
        for len in 1..=log.len() {
            let replayed = replay(None, &"t".into(), &log[..len].concat());
            assert_eq!(replayed.thread.as_ref(), Some(&states[len - 1]));
        }
    }

    #[test]
    fn replaying_over_a_file_that_holds_any_part_of_the_log_gives_the_same_thread() {
        let (states, log) = conversation();
        for from in 0..states.len() {
            for to in from..states.len() {
                // The log begins after step `from`; the file was written after step `base`, within the log.
                let bytes = log[from + 1..=to].concat();
                for base in &states[from..=to] {
                    let replayed = replay(Some(base.clone()), &"t".into(), &bytes);
                    assert_eq!(replayed.good_len, bytes.len());
                    assert_eq!(replayed.thread.as_ref(), Some(&states[to]));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn a_torn_or_damaged_log_is_good_up_to_the_damage(cut in any::<prop::sample::Index>(), flip in any::<u8>()) {
            let (states, log) = conversation();
            let mut bytes = log.concat();
            let cut = cut.index(bytes.len());
            if flip == 0 {
                bytes.truncate(cut);
            } else {
                bytes[cut] ^= flip;
            }
            let mut whole = 0;
            let mut end = 0;
            while whole < log.len() && end + log[whole].len() <= cut {
                end += log[whole].len();
                whole += 1;
            }
            let replayed = replay(None, &"t".into(), &bytes);
            prop_assert_eq!(replayed.good_len, end);
            prop_assert_eq!(whole_len(&bytes), end);
            prop_assert_eq!(replayed.thread.as_ref(), whole.checked_sub(1).map(|last| &states[last]));
        }

        #[test]
        fn arbitrary_bytes_are_never_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), seq in 0u64..3, at in 0usize..9) {
            let (states, _) = conversation();
            let _ = replay(None, &"t".into(), &bytes);
            let mut hostile = Vec::new();
            Change::Grow { seq, at, text: "é" }.encode_into(&mut hostile).unwrap();
            for state in states {
                let _ = replay(Some(state), &"t".into(), &hostile);
            }
        }
    }
}

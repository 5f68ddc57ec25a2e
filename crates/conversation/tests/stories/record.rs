//! A thread that is easy to write down.

use conversation::Seat;
use transcript::{
    BlockKind, ContextBlock, MessageId, NewMessage, Route, SeatId, Settlement, Thread, Timestamp,
};

/// A thread whose messages are named `m0`, `m1`, ...
pub(crate) struct Record {
    pub(crate) thread: Thread,
}

impl Record {
    pub(crate) fn new() -> Self {
        Self {
            thread: Thread::new("t".into(), Timestamp::UNIX_EPOCH),
        }
    }

    pub(crate) fn user(&mut self, text: &str) -> MessageId {
        self.append(NewMessage::user(text))
    }

    pub(crate) fn user_to(&mut self, text: &str, targets: &[&str]) -> MessageId {
        self.append(NewMessage {
            targets: targets.iter().map(|id| SeatId::from(*id)).collect(),
            ..NewMessage::user(text)
        })
    }

    pub(crate) fn user_with(&mut self, text: &str, path: &str, content: &str) -> MessageId {
        self.append(NewMessage {
            context_blocks: vec![block(path, content)],
            ..NewMessage::user(text)
        })
    }

    pub(crate) fn note(&mut self, text: &str) -> MessageId {
        self.append(NewMessage::system(text))
    }

    pub(crate) fn reply(&mut self, speaker: &str, text: &str) -> MessageId {
        self.reply_ended(speaker, text, Settlement::complete())
    }

    pub(crate) fn reply_ended(&mut self, speaker: &str, text: &str, end: Settlement) -> MessageId {
        let id = self.streaming(speaker, text);
        self.thread.settle(&id, end, Timestamp::UNIX_EPOCH).unwrap();
        id
    }

    pub(crate) fn streaming(&mut self, speaker: &str, text: &str) -> MessageId {
        self.thread.seat(&speaker.into()).unwrap();
        let route = Route {
            endpoint: "sidecar".into(),
            model: "m".into(),
            extra: Default::default(),
        };
        let id = self.append(NewMessage::reply(speaker.into(), route));
        self.thread.grow(&id, text).unwrap();
        id
    }

    pub(crate) fn delete(&mut self, id: &MessageId) {
        self.thread.tombstone(id, Timestamp::UNIX_EPOCH).unwrap();
    }

    fn append(&mut self, new: NewMessage) -> MessageId {
        let id = MessageId::from(format!("m{}", self.thread.messages().len()));
        self.thread
            .append(new, id.clone(), Timestamp::UNIX_EPOCH)
            .unwrap();
        id
    }
}

pub(crate) fn block(path: &str, content: &str) -> ContextBlock {
    ContextBlock {
        kind: BlockKind::Selection,
        path: path.into(),
        range: Some([10, 42]),
        content: content.into(),
        extra: Default::default(),
    }
}

/// A seat whose display name is its id in capitals.
pub(crate) fn seat(id: &str) -> Seat {
    Seat::new(id, id.to_uppercase(), "sidecar", "model")
}

pub(crate) fn ids<const N: usize>(ids: [&str; N]) -> Vec<SeatId> {
    ids.map(SeatId::from).to_vec()
}

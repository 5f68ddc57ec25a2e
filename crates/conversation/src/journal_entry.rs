//! What the run journal records of a turn.

use serde_json::{Value, json};
use transcript::{JournalKind, JournalRecord, SeatId, Usage};

use crate::input::{Finish, RequestId};
use crate::output::Purpose;

/// A line of the run journal. Never read back into a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalEntry {
    /// A request was made.
    Request {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// Of whom.
        seat: SeatId,
        /// The model asked for.
        model: String,
        /// Characters sent.
        chars: usize,
        /// How many messages were left out for length.
        dropped: usize,
        /// What was added to the thread's own prompt, for a step of a Bonfire.
        instruction: Option<String>,
    },
    /// What the model thought in it, as far as the provider shows that.
    Reasoning {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// The thought.
        text: String,
    },
    /// It finished.
    Response {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// What the model said, where that isn't the reply itself.
        text: Option<String>,
        /// What it cost, where reported.
        usage: Option<Usage>,
        /// Why the model stopped.
        finish: Finish,
    },
    /// It failed or was stopped.
    Error {
        /// Its name.
        request: RequestId,
        /// What for.
        purpose: Purpose,
        /// Why.
        error: String,
        /// What the model had said until then, where that isn't the reply itself.
        text: Option<String>,
    },
}

impl JournalEntry {
    /// The kind of the journal record: `request`, `reasoning`, `response` or `error`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Reasoning { .. } => "reasoning",
            Self::Response { .. } => "response",
            Self::Error { .. } => "error",
        }
    }

    /// The data of the journal record: an object.
    pub fn data(&self) -> Value {
        match self {
            Self::Request {
                request,
                purpose,
                seat,
                model,
                chars,
                dropped,
                instruction,
            } => json!({
                "request": request.0,
                "purpose": purpose.name(),
                "seat": seat,
                "model": model,
                "chars": chars,
                "dropped": dropped,
                "instruction": instruction,
            }),
            Self::Reasoning {
                request,
                purpose,
                text,
            } => json!({"request": request.0, "purpose": purpose.name(), "text": text}),
            Self::Response {
                request,
                purpose,
                text,
                usage,
                finish,
            } => json!({
                "request": request.0,
                "purpose": purpose.name(),
                "text": text,
                "usage": usage,
                "finish": finish.name(),
            }),
            Self::Error {
                request,
                purpose,
                error,
                text,
            } => json!({
                "request": request.0,
                "purpose": purpose.name(),
                "error": error,
                "text": text,
            }),
        }
    }
}

/// What was thought on the way to a reply, from its journal: reasoning, and for a Bonfire what each step said, under
/// its name. Empty where nothing was kept.
pub fn thoughts(records: &[JournalRecord]) -> String {
    let reply = Purpose::Reply.name();
    let mut all = String::new();
    let mut current = reply.as_str();
    for record in records {
        let text = record
            .data
            .as_str()
            .or_else(|| record.data["text"].as_str());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            continue;
        };
        let purpose = record.data["purpose"].as_str().unwrap_or(&reply);
        let begins_step = purpose != current && purpose != reply;
        // The pieces of a reply's reasoning add up; what a step thought and what it said are two things.
        if !all.is_empty() && (purpose != reply || current != reply) {
            all.push_str("\n\n");
        }
        if begins_step {
            all.push_str(&format!("**{purpose}**\n\n"));
        }
        current = purpose;
        all.push_str(text);
    }
    all
}

/// What each request of a Bonfire added to the thread's own prompt, by what it was for, from a reply's journal.
pub fn instructions(records: &[JournalRecord]) -> Vec<(String, String)> {
    let requests = records
        .iter()
        .filter(|record| record.kind == JournalKind::Request);
    requests
        .filter_map(|record| {
            let purpose = record.data["purpose"].as_str()?;
            let instruction = record.data["instruction"].as_str()?;
            Some((purpose.to_owned(), instruction.to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use transcript::Timestamp;

    use super::*;
    use crate::bonfire::Step;

    fn record(entry: &JournalEntry) -> JournalRecord {
        JournalRecord {
            at: Timestamp::UNIX_EPOCH,
            turn: 1,
            message_id: Some("m".into()),
            kind: entry.kind().to_owned().into(),
            data: entry.data(),
        }
    }

    fn thought(purpose: Purpose, text: &str) -> JournalRecord {
        record(&JournalEntry::Reasoning {
            request: RequestId(1),
            purpose,
            text: text.to_owned(),
        })
    }

    fn said(purpose: Purpose, text: Option<&str>) -> JournalRecord {
        record(&JournalEntry::Response {
            request: RequestId(1),
            purpose,
            text: text.map(str::to_owned),
            usage: None,
            finish: Finish::Stop,
        })
    }

    #[test]
    fn the_pieces_of_a_plain_replys_reasoning_add_up() {
        let records = [
            thought(Purpose::Reply, "Let me "),
            thought(Purpose::Reply, "think."),
            said(Purpose::Reply, None),
        ];
        assert_eq!(thoughts(&records), "Let me think.");
        assert_eq!(thoughts(&[]), "");
        assert_eq!(instructions(&records), []);
    }

    #[test]
    fn each_step_of_a_bonfire_stands_under_its_name() {
        let (plan, draft) = (
            Purpose::Bonfire(Step::Plan),
            Purpose::Bonfire(Step::Draft(0)),
        );
        let asked = record(&JournalEntry::Request {
            request: RequestId(1),
            purpose: plan,
            seat: "ann".into(),
            model: "m".to_owned(),
            chars: 3,
            dropped: 0,
            instruction: Some("Plan it.".to_owned()),
        });
        let records = [
            asked,
            thought(plan, "hm"),
            said(plan, Some("First this.")),
            said(draft, Some("A draft.")),
            thought(Purpose::Bonfire(Step::Synthesis), "so"),
        ];
        assert_eq!(
            thoughts(&records),
            "**plan**\n\nhm\n\nFirst this.\n\n**draft 1**\n\nA draft.\n\n**synthesis**\n\nso"
        );
        assert_eq!(
            instructions(&records),
            [("plan".to_owned(), "Plan it.".to_owned())]
        );
    }
}

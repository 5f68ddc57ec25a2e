//! What belongs to one open thread: what the person has allowed in it, and what each of its seats has seen.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use workspace::ReadLedger;

/// Something that can be allowed for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// Running commands, as far as no rule forbids them.
    Commands,
    /// Moving folders with all that is in them to the trash.
    FolderDeletes,
    /// Calling this kind of tool that reaches other machines.
    Network,
}

/// A seat, as far as files are concerned: an edit is held against what this seat has read.
#[derive(Debug)]
pub struct Seat {
    /// Its name.
    pub name: String,
    /// What it has read.
    pub ledger: ReadLedger,
}

/// The message whose checkpoint the changes of a turn belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnMessage {
    /// Its id, which names the checkpoint: of letters, digits, `-` and `_`.
    pub id: String,
    /// When it was sent, in milliseconds since 1970.
    pub at_millis: u64,
}

/// An open thread. One is made when a thread is opened, and what was allowed ends with it.
#[derive(Debug)]
pub struct Session {
    grants: Mutex<Grants>,
    message: Mutex<TurnMessage>,
    seats: Mutex<HashMap<String, Arc<Seat>>>,
    /// Held by each call that changes something, from its question to its end: they happen one after the other.
    pub(crate) changing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Debug, Default)]
struct Grants {
    held: BTreeSet<Grant>,
    /// Grows with each revocation, so that an answer to a question from before grants nothing.
    generation: u64,
}

impl Session {
    /// A session in which nothing is allowed yet.
    pub fn new(message: TurnMessage) -> Self {
        Self {
            grants: Mutex::default(),
            message: Mutex::new(message),
            seats: Mutex::default(),
            changing: Arc::default(),
        }
    }

    /// A message of the person was sent: changes from now on belong to its checkpoint.
    pub fn begin_message(&self, message: TurnMessage) {
        *lock(&self.message) = message;
    }

    /// The message whose turn it is.
    pub fn message(&self) -> TurnMessage {
        lock(&self.message).clone()
    }

    /// Takes back all that was allowed, also by answers that are still to come: another thread is opened.
    pub fn revoke_grants(&self) {
        let mut grants = lock(&self.grants);
        grants.held.clear();
        grants.generation += 1;
    }

    /// What is allowed now.
    pub fn grants(&self) -> BTreeSet<Grant> {
        lock(&self.grants).held.clone()
    }

    pub(crate) fn holds(&self, grant: Grant) -> bool {
        lock(&self.grants).held.contains(&grant)
    }

    pub(crate) fn grant_generation(&self) -> u64 {
        lock(&self.grants).generation
    }

    /// Allows something, if nothing was revoked since the question.
    pub(crate) fn allow(&self, grant: Grant, generation: u64) {
        let mut grants = lock(&self.grants);
        if grants.generation == generation {
            grants.held.insert(grant);
        }
    }

    /// The seat of this name.
    pub fn seat(&self, name: &str) -> Arc<Seat> {
        let mut seats = lock(&self.seats);
        let seat = seats.entry(name.to_owned()).or_insert_with(|| {
            Arc::new(Seat {
                name: name.to_owned(),
                ledger: ReadLedger::default(),
            })
        });
        Arc::clone(seat)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_a_question_from_before_a_revocation_grants_nothing() {
        let session = Session::new(TurnMessage {
            id: "m".into(),
            at_millis: 0,
        });
        let asked = session.grant_generation();
        session.allow(Grant::Commands, asked);
        assert!(session.holds(Grant::Commands) && !session.holds(Grant::FolderDeletes));
        session.revoke_grants();
        assert_eq!(session.grants(), BTreeSet::new());
        session.allow(Grant::Commands, asked);
        assert!(!session.holds(Grant::Commands));
        assert!(Arc::ptr_eq(&session.seat("ann"), &session.seat("ann")));
    }
}

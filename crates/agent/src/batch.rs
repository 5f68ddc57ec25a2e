//! The calls of one reply, and which of them may run now: those that change nothing beside each other, the others one
//! after the other and alone, all in the order in which the model made them.

use models::{ChatMessage, ToolCall};

use crate::tool_loop::CallResult;

/// At most so many calls run at a time.
const MOST_AT_ONCE: usize = 8;

/// The calls of a reply.
#[derive(Debug)]
pub(crate) struct Batch {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    call: ToolCall,
    read_only: bool,
    state: SlotState,
}

#[derive(Debug)]
enum SlotState {
    Waiting,
    Running,
    Done(CallResult),
}

impl Batch {
    pub(crate) fn new(calls: Vec<ToolCall>, read_only: impl Fn(&str) -> bool) -> Self {
        let slot = |call: ToolCall| Slot {
            read_only: read_only(&call.name),
            call,
            state: SlotState::Waiting,
        };
        Self {
            slots: calls.into_iter().map(slot).collect(),
        }
    }

    /// Starts what may run now: the places and the calls.
    pub(crate) fn start(&mut self) -> Vec<(usize, ToolCall)> {
        let mut started = Vec::new();
        let mut running = 0;
        for (at, slot) in self.slots.iter_mut().enumerate() {
            match &slot.state {
                SlotState::Done(_) => continue,
                SlotState::Running => running += 1,
                SlotState::Waiting if running >= MOST_AT_ONCE => break,
                SlotState::Waiting if slot.read_only || running == 0 => {
                    slot.state = SlotState::Running;
                    running += 1;
                    started.push((at, slot.call.clone()));
                }
                SlotState::Waiting => break,
            }
            // Behind a change nothing starts until it is over.
            if !slot.read_only {
                break;
            }
        }
        started
    }

    /// Takes a result; false if that call doesn't run.
    pub(crate) fn end(&mut self, at: usize, result: CallResult) -> bool {
        match self.slots.get_mut(at) {
            Some(slot) if matches!(slot.state, SlotState::Running) => {
                slot.state = SlotState::Done(result);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        let done = |slot: &Slot| matches!(slot.state, SlotState::Done(_));
        self.slots.iter().all(done)
    }

    /// Answers what has no result.
    pub(crate) fn cut_off(&mut self) {
        for slot in &mut self.slots {
            let text = match slot.state {
                SlotState::Done(_) => continue,
                SlotState::Running => "Error (cancelled): stopped by the person while it ran",
                SlotState::Waiting => "Error (cancelled): stopped by the person before it ran",
            };
            slot.state = SlotState::Done(CallResult {
                text: text.into(),
                bad_call: false,
            });
        }
    }

    /// The calls with their results, in order.
    pub(crate) fn results(&self) -> impl Iterator<Item = (&ToolCall, &CallResult)> {
        self.slots.iter().filter_map(|slot| match &slot.state {
            SlotState::Done(result) => Some((&slot.call, result)),
            _ => None,
        })
    }

    /// The results as messages, in order.
    pub(crate) fn messages(&self) -> Vec<ChatMessage> {
        self.results()
            .map(|(call, result)| ChatMessage::tool_result(&call.id, &result.text))
            .collect()
    }
}

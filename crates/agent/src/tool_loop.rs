//! The loop of a turn as a state machine: no clock, no I/O. What happened goes in, what is to be done comes out.

use std::fmt;
use std::sync::Arc;

use models::{ChatMessage, ChatRole, Finish, ToolCall};

use crate::batch::Batch;
use crate::pairing;
use crate::repeats::{Repeats, Repetition};

/// Bounds of a turn.
#[derive(Clone)]
pub struct LoopOptions {
    /// After so many rounds of calls the model must answer in words.
    pub max_rounds: u32,
    /// So many times in a row a model may put its calls right.
    pub max_corrections: u32,
    /// So many calls of one reply are carried out.
    pub max_calls: usize,
    /// Whether a tool changes nothing, by the name a model calls it.
    pub is_read_only: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

/// The rounds of a turn unless set otherwise.
pub const MAX_TOOL_ROUNDS: u32 = 200;

impl fmt::Debug for LoopOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopOptions")
            .field("max_rounds", &self.max_rounds)
            .field("max_corrections", &self.max_corrections)
            .field("max_calls", &self.max_calls)
            .finish_non_exhaustive()
    }
}

impl LoopOptions {
    /// The usual bounds.
    pub fn new(is_read_only: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self {
            max_rounds: MAX_TOOL_ROUNDS,
            max_corrections: 2,
            max_calls: 64,
            is_read_only: Arc::new(is_read_only),
        }
    }
}

/// What a model said in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// Its thoughts, where the endpoint shows them.
    pub reasoning: String,
    /// Its calls, fields of the provider's own included.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// What the model is told.
    pub text: String,
    /// Whether the model made a mistake in calling: arguments that don't fit, a tool that isn't there.
    pub bad_call: bool,
}

/// Names a call within a turn: the round, and the place in its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallKey {
    /// The round, from 1.
    pub round: u32,
    /// The place, from 0.
    pub at: usize,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The model has answered the request.
    Replied(Reply),
    /// The request came to nothing.
    RequestFailed {
        /// Why, in words for the person.
        error: String,
    },
    /// A call is over.
    CallEnded {
        /// Which.
        key: CallKey,
        /// What came of it.
        result: CallResult,
    },
    /// The person stops the turn.
    Stop,
}

/// Something to do. Outputs are carried out in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Send [`ToolLoop::messages`] to the model; one of [`Input::Replied`] and [`Input::RequestFailed`] comes of it.
    Request {
        /// Whether the tools are offered.
        offer_tools: bool,
    },
    /// What the model said before its calls belongs to its thoughts, not to its reply.
    Narrated {
        /// The text.
        text: String,
    },
    /// Carry out a call; all that are started run beside each other.
    Start {
        /// Its name in the turn.
        key: CallKey,
        /// The call.
        call: ToolCall,
    },
    /// Stop the request or the calls that run; no news of them is expected any more.
    StopAll,
    /// Tell the person.
    Notice(Notice),
    /// The turn is over.
    Ended(Ending),
}

/// What the person is told of the course of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The rounds are used up: the model must answer now.
    OutOfRounds,
    /// The model makes the same call again and again: it must answer now.
    GoesInCircles,
    /// The model can't get its calls right: it must answer now.
    CallsStayWrong,
    /// Messages were to be sent that no endpoint takes, and were put right: a fault of the program.
    Mended(String),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model answered in words.
    Answered {
        /// Its answer.
        text: String,
        /// Why it stopped.
        finish: Finish,
    },
    /// The person stopped it.
    Stopped,
    /// A request came to nothing.
    Failed {
        /// Why.
        error: String,
    },
}

/// A turn of one seat that may call tools.
///
/// Without tools on offer it makes the one request that a turn without this loop would make, to the byte.
#[derive(Debug)]
pub struct ToolLoop {
    options: LoopOptions,
    messages: Vec<ChatMessage>,
    state: State,
    round: u32,
    /// Rounds in a row in which a call was wrong.
    wrong_rounds: u32,
    repeats: Repeats,
}

#[derive(Debug)]
enum State {
    Asking { offered: bool },
    Calling(Batch),
    Over,
}

impl ToolLoop {
    /// Begins a turn with the messages of its prompt.
    pub fn begin(
        options: LoopOptions,
        prompt: Vec<ChatMessage>,
        offer_tools: bool,
    ) -> (Self, Vec<Output>) {
        let mut begun = Self {
            options,
            messages: prompt,
            state: State::Over,
            round: 0,
            wrong_rounds: 0,
            repeats: Repeats::default(),
        };
        let mut outputs = Vec::new();
        begun.ask(offer_tools, &mut outputs);
        (begun, outputs)
    }

    /// The messages so far: what the next request sends, and after the end what a later turn may go on from.
    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }

    /// Whether the turn is over.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Handles an input. One that makes no sense now, late news of a stopped call, changes nothing.
    pub fn handle(&mut self, input: Input) -> Vec<Output> {
        let mut outputs = Vec::new();
        match (input, &mut self.state) {
            (Input::Replied(reply), State::Asking { offered }) => {
                let offered = *offered;
                self.replied(reply, offered, &mut outputs);
            }
            (Input::RequestFailed { error }, State::Asking { .. }) => {
                self.end(Ending::Failed { error }, &mut outputs);
            }
            (Input::CallEnded { key, result }, State::Calling(_)) if key.round == self.round => {
                self.call_ended(key.at, result, &mut outputs);
            }
            (Input::Stop, State::Asking { .. } | State::Calling(_)) => self.stop(&mut outputs),
            _ => {}
        }
        outputs
    }

    fn replied(&mut self, reply: Reply, offered: bool, outputs: &mut Vec<Output>) {
        if reply.calls.is_empty() || !offered {
            let ending = match (reply.text.is_empty(), reply.calls.is_empty()) {
                (true, false) => Ending::Failed {
                    error: "the model asked for tools where there were none, and said nothing"
                        .into(),
                },
                _ => Ending::Answered {
                    text: reply.text,
                    finish: reply.finish,
                },
            };
            return self.end(ending, outputs);
        }
        self.round += 1;
        if !reply.text.is_empty() {
            outputs.push(Output::Narrated {
                text: reply.text.clone(),
            });
        }
        let mut calls = reply.calls.clone();
        let mut message = ChatMessage::new(ChatRole::Assistant, reply.text);
        message.reasoning = Some(reply.reasoning).filter(|reasoning| !reasoning.is_empty());
        message.tool_calls = reply.calls;
        self.messages.push(message);
        calls.truncate(self.options.max_calls);
        self.state = State::Calling(Batch::new(calls, &*self.options.is_read_only));
        self.go_on(outputs);
    }

    fn call_ended(&mut self, at: usize, result: CallResult, outputs: &mut Vec<Output>) {
        if let State::Calling(batch) = &mut self.state
            && batch.end(at, result)
        {
            self.go_on(outputs);
        }
    }

    /// Starts what may run, or asks the model again once nothing is left.
    fn go_on(&mut self, outputs: &mut Vec<Output>) {
        let State::Calling(batch) = &mut self.state else {
            return;
        };
        let round = self.round;
        let started = batch.start().into_iter();
        outputs.extend(started.map(|(at, call)| Output::Start {
            key: CallKey { round, at },
            call,
        }));
        if batch.is_over() {
            let why_last = self.take_results();
            if let Some(notice) = why_last {
                self.tell_model(&notice);
                outputs.push(Output::Notice(notice));
                self.ask(false, outputs);
            } else {
                self.ask(true, outputs);
            }
        }
    }

    /// Puts the results among the messages; why there must be no more calls, if so.
    fn take_results(&mut self) -> Option<Notice> {
        let State::Calling(batch) = std::mem::replace(&mut self.state, State::Over) else {
            return None;
        };
        let mut results = batch.messages();
        let (mut goes_in_circles, mut wrong) = (false, false);
        for ((call, result), message) in batch.results().zip(&mut results) {
            wrong |= result.bad_call;
            match self.repeats.note(call, &result.text) {
                Repetition::Fine => {}
                Repetition::Told(count) => message.content.push_str(&format!(
                    "\n[this call has given this result {count} times; do something else]"
                )),
                Repetition::Loop => goes_in_circles = true,
            }
        }
        self.messages.extend(results);
        self.answer_surplus();
        self.wrong_rounds = if wrong { self.wrong_rounds + 1 } else { 0 };
        if goes_in_circles {
            Some(Notice::GoesInCircles)
        } else if self.wrong_rounds > self.options.max_corrections {
            Some(Notice::CallsStayWrong)
        } else if self.round >= self.options.max_rounds {
            Some(Notice::OutOfRounds)
        } else {
            None
        }
    }

    /// Answers the calls beyond those of a reply that are carried out.
    fn answer_surplus(&mut self) {
        let most = self.options.max_calls;
        let Some(at) = self
            .messages
            .iter()
            .rposition(|message| !message.tool_calls.is_empty())
        else {
            return;
        };
        let surplus = self.messages[at].tool_calls.iter().skip(most);
        let text = format!(
            "Error (not_allowed): not carried out, since a reply may make {most} calls; make it again if it is needed"
        );
        let results: Vec<ChatMessage> = surplus
            .map(|call| ChatMessage::tool_result(&call.id, &text))
            .collect();
        self.messages.extend(results);
    }

    /// Says at the end of the last result that no more calls are possible: every endpoint takes that.
    fn tell_model(&mut self, notice: &Notice) {
        let why = match notice {
            Notice::OutOfRounds => "the rounds of tool calls of this turn are used up",
            Notice::GoesInCircles => "the same call was made again and again",
            Notice::CallsStayWrong => "the calls were wrong too many times in a row",
            Notice::Mended(_) => return,
        };
        if let Some(last) = self.messages.last_mut() {
            last.content.push_str(&format!(
                "\n[{why}: there are no more tools in this turn. Answer now with what you know, and say what is missing.]"
            ));
        }
    }

    fn ask(&mut self, offer_tools: bool, outputs: &mut Vec<Output>) {
        if let Err(broken) = pairing::check(&self.messages) {
            pairing::mend(&mut self.messages);
            outputs.push(Output::Notice(Notice::Mended(broken.to_string())));
        }
        self.state = State::Asking {
            offered: offer_tools,
        };
        outputs.push(Output::Request { offer_tools });
    }

    fn stop(&mut self, outputs: &mut Vec<Output>) {
        if let State::Calling(batch) = &mut self.state {
            batch.cut_off();
            let results = batch.messages();
            self.messages.extend(results);
            self.answer_surplus();
        }
        outputs.push(Output::StopAll);
        self.end(Ending::Stopped, outputs);
    }

    fn end(&mut self, ending: Ending, outputs: &mut Vec<Output>) {
        if let Ending::Answered { text, .. } = &ending {
            let answer = ChatMessage::new(ChatRole::Assistant, text.clone());
            self.messages.push(answer);
        }
        self.state = State::Over;
        outputs.push(Output::Ended(ending));
    }
}

//! The tool loop: a model's reply, the calls it makes, their results, until it answers in words.
//!
//! [`ToolLoop`] decides and does nothing itself: [`Input`]s go in, [`Output`]s come out. [`run_turn`] carries them out
//! with a [`Model`] and a [`CallRunner`]; [`EndpointModel`] and [`SeatTools`] are the real ones, over a streaming client
//! and the guard of the tool registry.
//!
//! ```
//! use agent::{CallKey, CallResult, Ending, Input, LoopOptions, Output, Reply, ToolLoop};
//! use models::{ChatMessage, ChatRole, Finish, ToolCall};
//!
//! let prompt = vec![ChatMessage::new(ChatRole::User, "What is in a.txt?")];
//! let options = LoopOptions::new(|name| name != "write_file");
//! let (mut turn, asked) = ToolLoop::begin(options, prompt, true);
//! assert_eq!(asked, [Output::Request { offer_tools: true }]);
//!
//! let call = ToolCall {
//!     id: "1".into(),
//!     name: "read_file".into(),
//!     arguments: r#"{"path":"a.txt"}"#.into(),
//!     extra: Default::default(),
//! };
//! let reply = |text: &str, calls| Reply { text: text.into(), reasoning: String::new(), calls, finish: Finish::Stop };
//! let key = CallKey { round: 1, at: 0 };
//! assert_eq!(turn.handle(Input::Replied(reply("", vec![call.clone()]))), [Output::Start { key, call }]);
//!
//! let result = CallResult { text: "   1| one".into(), bad_call: false };
//! assert_eq!(turn.handle(Input::CallEnded { key, result }), [Output::Request { offer_tools: true }]);
//! let ended = turn.handle(Input::Replied(reply("One line.", Vec::new())));
//! let answer = Ending::Answered { text: "One line.".into(), finish: Finish::Stop };
//! assert_eq!(ended, [Output::Ended(answer)]);
//! ```

mod batch;
mod driver;
pub mod pairing;
mod record;
mod repeats;
mod seat_tools;
mod tool_loop;

pub use driver::{CallRunner, Called, LoopEvent, Model, Observer, TurnOutcome, run_turn};
pub use record::CallRecord;
pub use seat_tools::{EndpointModel, SeatTools};
pub use tool_loop::{
    CallKey, CallResult, Ending, Input, LoopOptions, MAX_TOOL_ROUNDS, Notice, Output, Reply,
    ToolLoop,
};

//! A scripted OpenAI-compatible model server: the demo table, tests and benches.
//!
//! ```
//! use rehearsal::{Options, Rehearsal, Script};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::parse(
//!     r#"
//!     [[step]]
//!     seat = "Claude"
//!     contains = "hello"
//!     reply = "Good day, {{user}} is what you said."
//!     "#,
//! )?;
//! let rehearsal = Rehearsal::start(script, Options::default()).await?;
//! println!("point a client at {}", rehearsal.base_url());
//! assert!(rehearsal.mismatches().is_empty());
//! rehearsal.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! The server listens on 127.0.0.1 only and answers `GET /v1/models` and `POST /v1/chat/completions`, streamed or
//! plain; anything else is a JSON 404. It records every request.
//!
//! # Scripts
//!
//! A script is a TOML file. Unknown keys are errors with their line.
//!
//! | Top level | |
//! |---|---|
//! | `order` | `"matched"` (default): the first step that fits answers. `"ordered"`: the steps answer one after the other |
//! | `[defaults]` | `tokens_per_second` and `chunk_chars` for steps that name none |
//! | `[[models]]` | `id`, `owned_by`, `context_length`; without any, the models that steps name are listed |
//! | `[[step]]` | one answer, see below |
//!
//! ## Which requests a step answers
//!
//! All keys given must fit. The *person's last words* are the last text labelled `[User]`, or the last user message
//! when nothing is labelled.
//!
//! | Key | Fits when |
//! |---|---|
//! | `model` | the request asks for this model |
//! | `seat` | a system message says "You are NAME" |
//! | `nth`, `nth_of_model` | it is this chat request, from 1, in all or for its model |
//! | `last_role` | the last message has this role |
//! | `contains` | the person's last words contain this text, or all of these texts |
//! | `regex` | the person's last words match |
//! | `prompt_contains` | the texts of all messages together contain this text, or all of these |
//! | `tool_result` | one of the tool results at the request's end contains this text |
//! | `previous_speaker` | this other seat spoke after the person; `"*"` is any |
//! | `facts` | each named fact contains its text: `facts = { top_languages = "Rust" }` |
//! | `otherwise` | nothing else fits, in lenient mode only |
//! | `times` | the step has answered less often; in an ordered script the default is 1 |
//! | `every_other` | the other keys fit for the 1st, 3rd, 5th ... time |
//! | `endpoint` | `"chat"` (default) or `"models"`: a status and body for the model list |
//!
//! `name` is for people: it appears in mismatches and in [`Recorded::step`].
//!
//! ## What it says
//!
//! | Key | |
//! |---|---|
//! | `reply` | a text, cut into deltas of `chunk_chars` (a number or `[least, most]`); or a list of chunks |
//! | `reasoning` | thought before a text reply |
//! | `tokens_per_second` | pace of the deltas; without it they come at once |
//! | `finish` | the finish reason; default `stop`, or `tool_calls` after tool calls |
//! | `usage` | a table of token counts; see `usage_style` |
//! | `answer_model` | the model that the answer claims to come from |
//! | `delay_ms`, `gate` | before the first byte: a pause; a wait until the gate of this name is opened |
//!
//! A chunk in a list may have `content`, `reasoning`, `tool_call` (or a list `tool_calls`) with `index`, `id`, `name`,
//! `arguments` (text or table) and `extra` (a table of further fields), `finish`, `usage`: these become one delta.
//! Before it come, in this order, `delay_ms`, `gate`, `comment`, `raw` (these bytes and no others), `raw_hex`, `data`
//! (an event with this payload), `payload` (an event with this table as JSON) and `error` (an event with this error
//! object; no finish is added after one).
//!
//! Texts of replies and thoughts may hold placeholders: `{{user}}`, `{{user_first_line}}`, `{{seat}}`, `{{model}}`,
//! `{{previous_speaker}}`, `{{previous_sentence}}`, `{{fact:NAME}}`, each with an optional fallback: `{{fact:NAME|none}}`.
//!
//! ## How it spells it
//!
//! | Key | |
//! |---|---|
//! | `plain` | answer a streaming request with one JSON object |
//! | `split` | largest number of bytes in one write, or `"every_byte"` |
//! | `crlf`, `cr` | line ends other than LF |
//! | `no_space` | `data:{...}` |
//! | `reasoning_field` | `reasoning_content` (default), `reasoning`, `reasoning_details`, `think_tags`, `content_parts` |
//! | `role_in_every_delta`, `no_role` | instead of in the first delta only |
//! | `usage_style` | `extra_chunk` (default), `null_choices`, `no_choices`, `with_finish`, `every_chunk`, `zeros` (real ones last), `never`; counts that the script doesn't give are estimated |
//! | `no_done`, `double_done`, `after_done` | no `[DONE]`, two, or a text after it |
//! | `no_finish` | no finish reason is added |
//! | `until_close` | the body ends with the connection instead of being chunked |
//!
//! ## How it fails
//!
//! | Key | |
//! |---|---|
//! | `no_first_byte` | nothing at all until the client goes |
//! | `stall_after` | silence after so many chunks, until the client goes |
//! | `reset_after` | after so many chunks half of the next event, then a TCP reset |
//! | `close_after` | after so many chunks half of the next event, then the connection's end without the body's |
//! | `status`, `body`, `content_type`, `headers` | a whole response; the body is a text, or a table that becomes JSON |
//! | `empty_200` | an empty event stream |
//! | `data_null` | a `data: null` event before the reply |
//! | `huge_line_bytes` | a content delta before the reply, on a line of this size |
//! | `flood`, `flood_seconds` | so many numbered deltas a second before the reply, for 1 second or as long as said |
//! | `redirect` | a redirect to this URL, with status 307 or another |
//!
//! `content_type` and `headers` also apply to replies.
//!
//! # Control from another process
//!
//! `GET /_rehearsal/requests` returns the recorded requests as JSON, with `?chats=N` as soon as there are N chat
//! requests; `GET /_rehearsal/mismatches` what [`Rehearsal::mismatches`] returns; `POST /_rehearsal/gate/NAME` opens a
//! gate. None of these is recorded.

mod conditions;
mod connection;
mod delivery;
mod event_writer;
mod gates;
mod http;
mod pieces;
mod plain;
mod recording;
mod script;
mod selection;
mod serve;
mod server;
mod stage;
mod streamed;
mod table_view;
mod template;
mod token_counts;

pub use recording::Recorded;
pub use script::{Script, ScriptError};
pub use serve::serve_until;
pub use server::{Options, Rehearsal};

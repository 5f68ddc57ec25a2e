//! Carries out what the loop asks for: streams replies, runs calls, and stops both with one token.

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use models::{ChatMessage, Completion, ModelError, StreamEvent, ToolCall};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::CallReport;

use crate::tool_loop::{
    CallKey, CallResult, Ending, Input, LoopOptions, Notice, Output, Reply, ToolLoop,
};

/// Events that may wait between a connection and the loop.
const WAITING_EVENTS: usize = 256;

/// A model that can be asked.
pub trait Model: Send + Sync {
    /// Streams one reply. The events go to `events` in order; `cancel` ends it.
    fn stream<'a>(
        &'a self,
        messages: &'a [ChatMessage],
        offer_tools: bool,
        events: mpsc::Sender<StreamEvent>,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<Completion, ModelError>>;
}

/// Carries out calls.
pub trait CallRunner: Send + Sync {
    /// Whether a tool changes nothing, by the name a model calls it.
    fn is_read_only(&self, name: &str) -> bool;

    /// Carries out a call; it ends, with everything it started, when `cancel` does.
    fn run<'a>(&'a self, call: &'a ToolCall, cancel: CancellationToken) -> BoxFuture<'a, Called>;
}

/// What came of a call.
#[derive(Clone, Debug)]
pub struct Called {
    /// For the model.
    pub result: CallResult,
    /// For cards and the journal; none if the arguments were no arguments at all.
    pub report: Option<Box<CallReport>>,
}

/// The course of a turn, for whoever shows it or writes it down.
#[derive(Clone, Debug)]
pub enum LoopEvent<'a> {
    /// A request goes out.
    Asked {
        /// What is sent.
        messages: &'a [ChatMessage],
        /// Whether tools are offered.
        offer_tools: bool,
    },
    /// A piece of the reply.
    Piece(&'a StreamEvent),
    /// The reply is there.
    Replied(&'a Completion),
    /// What was said in this round belongs to the thoughts.
    Narrated(&'a str),
    /// A call begins.
    Started {
        /// Its name in the turn.
        key: CallKey,
        /// The call.
        call: &'a ToolCall,
    },
    /// A call is over.
    Called {
        /// Its name in the turn.
        key: CallKey,
        /// The call.
        call: &'a ToolCall,
        /// What came of it.
        called: &'a Called,
    },
    /// Something the person should know.
    Notice(&'a Notice),
}

/// Is told of the course of a turn. It must not wait.
pub trait Observer: Send {
    /// Something happened.
    fn observe(&mut self, event: LoopEvent<'_>);
}

impl<F: FnMut(LoopEvent<'_>) + Send> Observer for F {
    fn observe(&mut self, event: LoopEvent<'_>) {
        self(event);
    }
}

/// How a turn went.
#[derive(Clone, Debug)]
pub struct TurnOutcome {
    /// How it ended.
    pub ending: Ending,
    /// The error of the request it failed with.
    pub error: Option<ModelError>,
    /// All messages, the prompt included; each call among them has its result, however the turn ended.
    pub messages: Vec<ChatMessage>,
    /// The last reply that was complete.
    pub last: Option<Completion>,
}

/// Runs a turn to its end. When `cancel` does, the turn ends once all that was started has ended too.
pub async fn run_turn(
    options: LoopOptions,
    prompt: Vec<ChatMessage>,
    offer_tools: bool,
    model: &dyn Model,
    runner: &dyn CallRunner,
    observer: &mut dyn Observer,
    cancel: &CancellationToken,
) -> TurnOutcome {
    let (machine, outputs) = ToolLoop::begin(options, prompt, offer_tools);
    let mut driver = Driver {
        machine,
        model,
        runner,
        observer,
        cancel,
        error: None,
        last: None,
    };
    let ending = driver.run(outputs).await;
    TurnOutcome {
        ending,
        error: driver.error,
        messages: driver.machine.messages().to_vec(),
        last: driver.last,
    }
}

struct Driver<'a> {
    machine: ToolLoop,
    model: &'a dyn Model,
    runner: &'a dyn CallRunner,
    observer: &'a mut dyn Observer,
    cancel: &'a CancellationToken,
    error: Option<ModelError>,
    last: Option<Completion>,
}

/// A call on its way, with its name.
type Running<'a> = BoxFuture<'a, (CallKey, ToolCall, Called)>;

impl<'a> Driver<'a> {
    async fn run(&mut self, mut outputs: Vec<Output>) -> Ending {
        let mut running: FuturesUnordered<Running<'a>> = FuturesUnordered::new();
        loop {
            let mut offer = None;
            for output in outputs.drain(..) {
                match output {
                    Output::Request { offer_tools } => offer = Some(offer_tools),
                    Output::Narrated { text } => self.observer.observe(LoopEvent::Narrated(&text)),
                    Output::Notice(notice) => self.observer.observe(LoopEvent::Notice(&notice)),
                    Output::Start { key, call } => running.push(self.start(key, call)),
                    // The token has told the requests and the calls already.
                    Output::StopAll => {}
                    Output::Ended(ending) => {
                        // What runs sees the same token; a process group is gone when its call has ended.
                        while let Some((key, call, called)) = running.next().await {
                            self.called(key, &call, &called);
                        }
                        return ending;
                    }
                }
            }
            outputs = match offer {
                Some(offer_tools) => self.ask(offer_tools).await,
                None => self.wait(&mut running).await,
            };
        }
    }

    fn start(&mut self, key: CallKey, call: ToolCall) -> Running<'a> {
        self.observer
            .observe(LoopEvent::Started { key, call: &call });
        let (runner, cancel) = (self.runner, self.cancel.clone());
        Box::pin(async move {
            let called = runner.run(&call, cancel).await;
            (key, call, called)
        })
    }

    fn called(&mut self, key: CallKey, call: &ToolCall, called: &Called) {
        self.observer
            .observe(LoopEvent::Called { key, call, called });
    }

    /// Waits for the next call to end, or the stop.
    async fn wait(&mut self, running: &mut FuturesUnordered<Running<'a>>) -> Vec<Output> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => self.machine.handle(Input::Stop),
            ended = running.next() => match ended {
                Some((key, call, called)) => {
                    self.called(key, &call, &called);
                    self.machine.handle(Input::CallEnded { key, result: called.result })
                }
                // The loop waits for nothing and asks for nothing, which it never does.
                None => {
                    log::error!("a turn waits for nothing");
                    self.machine.handle(Input::Stop)
                }
            },
        }
    }

    /// Streams a reply.
    async fn ask(&mut self, offer_tools: bool) -> Vec<Output> {
        let messages = self.machine.messages();
        self.observer.observe(LoopEvent::Asked {
            messages,
            offer_tools,
        });
        let (events, mut arriving) = mpsc::channel(WAITING_EVENTS);
        let stop = self.cancel.child_token();
        let streaming = self.model.stream(messages, offer_tools, events, stop);
        let (mut text, mut reasoning) = (String::new(), String::new());
        let observer = &mut *self.observer;
        let listening = async {
            while let Some(event) = arriving.recv().await {
                observer.observe(LoopEvent::Piece(&event));
                match event {
                    StreamEvent::Content(piece) => text.push_str(&piece),
                    StreamEvent::Reasoning(piece) => reasoning.push_str(&piece),
                    StreamEvent::ToolCallDelta { .. } => {}
                }
            }
        };
        let (ended, ()) = tokio::join!(streaming, listening);
        let input = match ended {
            _ if self.cancel.is_cancelled() => Input::Stop,
            Ok(completion) => {
                self.observer.observe(LoopEvent::Replied(&completion));
                let reply = Reply {
                    text,
                    reasoning,
                    calls: completion.tool_calls.clone(),
                    finish: completion.finish.clone(),
                };
                self.last = Some(completion);
                Input::Replied(reply)
            }
            Err(error) => {
                let told = error.to_string();
                self.error = Some(error);
                Input::RequestFailed { error: told }
            }
        };
        self.machine.handle(input)
    }
}

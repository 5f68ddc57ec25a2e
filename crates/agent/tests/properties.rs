//! Whatever a model says, whatever its calls give, whenever the person stops: no request breaks the pairing of calls
//! and results, changes never run beside anything, and the turn ends.

use std::collections::HashMap;

use agent::{CallKey, CallResult, Ending, Input, LoopOptions, Output, Reply, ToolLoop, pairing};
use models::{ChatMessage, ChatRole, Finish, ToolCall};
use proptest::prelude::*;
use serde_json::json;

const MAX_ROUNDS: u32 = 6;

#[derive(Clone, Debug)]
struct World {
    replies: Vec<Option<(String, Vec<Call>)>>,
    results: Vec<(String, bool)>,
    /// Which of the running calls ends next.
    picks: Vec<prop::sample::Index>,
    stop_after: usize,
}

#[derive(Clone, Debug)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

fn a_call() -> impl Strategy<Value = Call> {
    // Ids that come again, also within a reply: no endpoint's decoder lets that through, but nobody must rely on it.
    let name = prop::sample::select(vec![
        "read_file",
        "grep",
        "write_file",
        "run_command",
        "nonsense",
    ]);
    let arguments = prop::sample::select(vec!["{}", "{\"path\":\"a\"}", "{\"pa", "[]"]);
    (0..12u8, name, arguments).prop_map(|(id, name, arguments)| Call {
        id: format!("call_{id}"),
        name: name.into(),
        arguments: arguments.into(),
    })
}

fn a_world() -> impl Strategy<Value = World> {
    let reply =
        prop::option::weighted(0.97, ("[a-z ]{0,6}", prop::collection::vec(a_call(), 0..9)));
    (
        prop::collection::vec(reply, 1..10),
        prop::collection::vec(("[a-z]{0,3}", prop::bool::weighted(0.2)), 1..12),
        prop::collection::vec(any::<prop::sample::Index>(), 64),
        0..120usize,
    )
        .prop_map(|(replies, results, picks, stop_after)| World {
            replies,
            results,
            picks,
            stop_after,
        })
}

fn is_read_only(name: &str) -> bool {
    !["write_file", "run_command"].contains(&name)
}

fn tool_call(call: &Call) -> ToolCall {
    let mut extra = serde_json::Map::new();
    extra.insert(
        "extra_content".into(),
        json!({"signature": [call.id, null]}),
    );
    ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        extra,
    }
}

/// Plays a world; what is checked is checked on the way.
struct Play<'a> {
    world: &'a World,
    turn: ToolLoop,
    running: Vec<(CallKey, ToolCall)>,
    started: HashMap<CallKey, ToolCall>,
    requests: u32,
    last_offer: bool,
    replied: Vec<ToolCall>,
}

impl Play<'_> {
    /// Carries out outputs; how the turn ended, if it did.
    fn carry_out(&mut self, outputs: Vec<Output>) -> Option<Ending> {
        let mut ended = None;
        for output in outputs {
            assert!(ended.is_none(), "something comes after the end: {output:?}");
            match output {
                Output::Request { offer_tools } => {
                    self.requests += 1;
                    assert!(self.running.is_empty(), "a request while calls run");
                    assert!(
                        self.requests == 1 || self.last_offer,
                        "a round after the last one"
                    );
                    self.last_offer = offer_tools;
                    assert_eq!(pairing::check(self.turn.messages()), Ok(()));
                }
                Output::Start { key, call } => self.start(key, call),
                Output::StopAll => self.running.clear(),
                Output::Ended(ending) => ended = Some(ending),
                Output::Narrated { .. } | Output::Notice(_) => {}
            }
        }
        ended
    }

    fn start(&mut self, key: CallKey, call: ToolCall) {
        assert_eq!(
            self.replied[key.at], call,
            "a call went out other than it came in"
        );
        self.running.push((key, call.clone()));
        assert!(
            self.started.insert(key, call).is_none(),
            "a call was started twice"
        );
        let changes = self
            .running
            .iter()
            .filter(|(_, call)| !is_read_only(&call.name))
            .count();
        assert!(
            changes == 0 || self.running.len() == 1,
            "a change runs beside something"
        );
        let earlier = (0..key.at).map(|at| CallKey { at, ..key });
        assert!(
            earlier
                .into_iter()
                .all(|key| self.started.contains_key(&key)),
            "out of order"
        );
        assert!(self.running.len() <= 8);
    }

    fn next_input(&mut self, step: usize) -> Input {
        if step == self.world.stop_after {
            return Input::Stop;
        }
        if self.running.is_empty() {
            let at = self.requests as usize - 1;
            let Some((text, calls)) = self.world.replies.get(at).cloned().unwrap_or_default()
            else {
                return Input::RequestFailed {
                    error: "gone".into(),
                };
            };
            self.replied = calls.iter().map(tool_call).collect();
            return Input::Replied(Reply {
                text,
                reasoning: "hm".into(),
                calls: self.replied.clone(),
                finish: Finish::ToolCalls,
            });
        }
        let pick = self.world.picks[step % self.world.picks.len()].index(self.running.len());
        let (key, _) = self.running.remove(pick);
        let (text, bad_call) = self.world.results[step % self.world.results.len()].clone();
        Input::CallEnded {
            key,
            result: CallResult { text, bad_call },
        }
    }
}

fn play(world: &World) {
    let mut options = LoopOptions::new(is_read_only);
    (options.max_rounds, options.max_calls) = (MAX_ROUNDS, 6);
    let prompt = vec![
        ChatMessage::new(ChatRole::System, "s"),
        ChatMessage::new(ChatRole::User, "u"),
    ];
    let (turn, outputs) = ToolLoop::begin(options, prompt.clone(), true);
    let mut play = Play {
        world,
        turn,
        running: Vec::new(),
        started: HashMap::new(),
        requests: 0,
        last_offer: true,
        replied: Vec::new(),
    };
    let mut ended = play.carry_out(outputs);
    for step in 0..400 {
        if ended.is_some() {
            break;
        }
        let input = play.next_input(step);
        let stopped = input == Input::Stop;
        let outputs = play.turn.handle(input);
        ended = play.carry_out(outputs);
        if stopped {
            assert_eq!(ended, Some(Ending::Stopped));
        }
    }
    let ended = ended.expect("the turn ends");
    assert!(
        play.turn.is_over() && play.requests <= MAX_ROUNDS + 1,
        "{ended:?}"
    );
    // Late news changes nothing.
    let late = CallKey { round: 1, at: 0 };
    let result = CallResult {
        text: String::new(),
        bad_call: false,
    };
    assert_eq!(play.turn.handle(Input::CallEnded { key: late, result }), []);
    assert_eq!(play.turn.handle(Input::Stop), []);
    goes_on(play.turn.messages(), &prompt);
}

/// A later turn can be made of what an ended one left: the prompt is as it was, each call has its result and all the
/// fields it came with.
fn goes_on(messages: &[ChatMessage], prompt: &[ChatMessage]) {
    assert_eq!(&messages[..2], prompt);
    for call in messages.iter().flat_map(|message| &message.tool_calls) {
        assert_eq!(
            call.extra["extra_content"]["signature"],
            json!([call.id, null])
        );
    }
    let mut all = messages.to_vec();
    // What was asked and failed, or was stopped, may have left ids that no decoder lets through.
    pairing::mend(&mut all);
    all.push(ChatMessage::new(ChatRole::User, "hi"));
    let (turn, _) = ToolLoop::begin(LoopOptions::new(is_read_only), all, true);
    assert_eq!(pairing::check(turn.messages()), Ok(()));
    if unique_ids(messages) {
        assert_eq!(pairing::check(messages), Ok(()));
    }
}

fn unique_ids(messages: &[ChatMessage]) -> bool {
    messages.iter().all(|message| {
        let mut ids: Vec<&str> = message.tool_calls.iter().map(|call| &*call.id).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        ids.len() == all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_turn_holds_its_promises_in_any_world(world in a_world()) {
        play(&world);
    }
}

/// A turn in which each reply makes the same calls, until it may not.
fn stubborn(
    options: LoopOptions,
    bad: bool,
    text: impl Fn(u32) -> String,
) -> (u32, Vec<ChatMessage>, String) {
    let (mut turn, _) = ToolLoop::begin(options, vec![ChatMessage::new(ChatRole::User, "u")], true);
    let call = Call {
        id: "1".into(),
        name: "grep".into(),
        arguments: "{}".into(),
    };
    let mut rounds = 0;
    loop {
        let reply = Reply {
            text: String::new(),
            reasoning: String::new(),
            calls: vec![tool_call(&call)],
            finish: Finish::ToolCalls,
        };
        turn.handle(Input::Replied(reply));
        rounds += 1;
        let key = CallKey {
            round: rounds,
            at: 0,
        };
        let result = CallResult {
            text: text(rounds),
            bad_call: bad,
        };
        let outputs = turn.handle(Input::CallEnded { key, result });
        if outputs.contains(&Output::Request { offer_tools: false }) {
            let last = turn.messages().last().unwrap().content.clone();
            return (rounds, turn.messages().to_vec(), last);
        }
        assert_eq!(outputs, [Output::Request { offer_tools: true }]);
    }
}

#[test]
fn the_rounds_of_a_turn_end_in_one_without_tools() {
    let mut options = LoopOptions::new(is_read_only);
    options.max_rounds = 4;
    let (rounds, messages, last) = stubborn(options, false, |round| round.to_string());
    assert_eq!((rounds, messages.len()), (4, 9));
    assert!(
        last.starts_with("4\n[the rounds of tool calls of this turn are used up"),
        "{last}"
    );
}

#[test]
fn wrong_calls_come_back_twice_and_then_no_more() {
    let (rounds, _, last) = stubborn(LoopOptions::new(is_read_only), true, |round| {
        round.to_string()
    });
    assert_eq!(rounds, 3);
    assert!(last.contains("wrong too many times"), "{last}");
}

#[test]
fn a_loop_of_one_call_is_told_first_and_ended_then() {
    let (rounds, messages, last) =
        stubborn(LoopOptions::new(is_read_only), false, |_| "none".into());
    assert_eq!(rounds, 6);
    assert!(
        messages[6]
            .content
            .contains("has given this result 3 times"),
        "{messages:?}"
    );
    assert!(last.contains("again and again"), "{last}");
}

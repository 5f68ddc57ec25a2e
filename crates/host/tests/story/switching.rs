//! Threads that stream while others are looked at: nothing ends up in the wrong one, and nothing is lost.

use std::collections::HashMap;
use std::sync::Arc;

use host::{Channel, Event, Intent, SendMessage};
use proptest::prelude::*;
use transcript::{Message, MessageId, Status, ThreadId};

use crate::table::{Table, is_reply};

/// Slow enough that a reply is still on its way when the next step is taken.
const ECHO: &str = r#"
    [defaults]
    tokens_per_second = 400.0
    chunk_chars = 4
    [[step]]
    reply = 'You said {{user}} and this is what I think of it, at some length.'
"#;

/// What the person does.
#[derive(Clone, Debug)]
enum Step {
    Open(usize),
    Say(usize, bool),
    Stop(usize),
    New,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3usize).prop_map(Step::Open),
        4 => (0..3usize, any::<bool>()).prop_map(|(thread, all)| Step::Say(thread, all)),
        1 => (0..3usize).prop_map(Step::Stop),
        1 => Just(Step::New),
    ]
}

/// What a client heard of the replies, by message: the thread, and the text so far.
#[derive(Default)]
struct Heard {
    replies: HashMap<MessageId, (ThreadId, String)>,
}

impl Heard {
    fn take(&mut self, event: &Event) {
        match event {
            Event::MessageAdded(thread, message) if is_reply(message) => {
                let said = (thread.clone(), message.content().to_owned());
                self.replies.insert(message.id().clone(), said);
            }
            Event::Delta(delta) if delta.channel == Channel::Reply => {
                let (thread, text) = self.replies.get_mut(&delta.message).expect("it was added");
                assert_eq!(*thread, delta.thread, "a delta strayed into another thread");
                text.push_str(&delta.text);
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn streams_stay_in_their_threads_however_one_switches(steps in prop::collection::vec(step(), 1..24)) {
        let table = Table::open(ECHO);
        let mut heard = Heard::default();
        // Three threads with something in each, so that they last.
        let mut threads: Vec<ThreadId> = Vec::new();
        for nth in 0..3 {
            table.intent(Intent::NewThread);
            let opened = |event: &Event| match event {
                Event::ThreadOpened(thread) if thread.messages.is_empty() => Some(thread.id.clone()),
                _ => None,
            };
            let id = table.wait("an empty thread", |event| {
                heard.take(event);
                opened(event)
            });
            let first = SendMessage::chat(id.clone(), format!("@ann in-{nth}-0"));
            table.intent(Intent::Send(first));
            table.wait("the question", |event| {
                heard.take(event);
                matches!(event, Event::MessageAdded(of, m) if *of == id && !is_reply(m)).then_some(())
            });
            threads.push(id);
        }
        for (count, step) in steps.iter().enumerate() {
            table.intent(match step {
                Step::Open(nth) => Intent::SwitchThread(threads[*nth].clone()),
                Step::Say(nth, all) => {
                    let who = if *all { "@all" } else { "@bob" };
                    let text = format!("{who} in-{nth}-{}", count + 1);
                    Intent::Send(SendMessage::chat(threads[*nth].clone(), text))
                }
                Step::Stop(nth) => Intent::Stop(threads[*nth].clone()),
                Step::New => Intent::NewThread,
            });
            // A few events of whatever goes on, before the next step.
            for event in table.events.drain(8) {
                heard.take(&event);
            }
        }
        for (nth, thread) in threads.iter().enumerate() {
            let messages = settled(&table, thread, &mut heard);
            for message in &messages {
                let own = format!("in-{nth}-");
                let is_mine = message.content().contains(&own);
                if is_reply(message) {
                    let (of, text) = &heard.replies[message.id()];
                    prop_assert_eq!(of, thread);
                    prop_assert_eq!(text, message.content());
                    prop_assert!(message.status() != Status::Streaming);
                    prop_assert!(is_mine || message.status() == Status::Cancelled);
                } else {
                    prop_assert!(is_mine);
                }
            }
        }
    }
}

/// The messages of a thread once no turn runs in it and nothing waits.
fn settled(table: &Table, thread: &ThreadId, heard: &mut Heard) -> Vec<Arc<Message>> {
    loop {
        // What waits behind a stop goes on only when it is told to.
        table.intent(Intent::ResumeQueue(thread.clone()));
        table.intent(Intent::SwitchThread(thread.clone()));
        let opened = table.wait("the thread", |event| {
            heard.take(event);
            match event {
                Event::ThreadOpened(opened) if opened.id == *thread => Some(opened.clone()),
                _ => None,
            }
        });
        if !opened.turn.is_generating && opened.queue.waiting.is_empty() {
            return opened.messages;
        }
        table.wait("the turn's end", |event| {
            heard.take(event);
            matches!(event, Event::TurnEnded { thread: of, .. } if of == thread).then_some(())
        });
    }
}

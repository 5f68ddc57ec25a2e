//! A recorded run repeats itself to the bit without its host, in whatever order the replies came.

use codemode::events::{Event, channel};
use codemode::{
    Call, CancelFlag, Data, Environment, Extension, Hooks, HostError, Limits, Outcome, Output,
    Reply, RunLog, Runtime, Step, Tool, ToolError, ToolHost, ToolSet, compile,
    compile_with_prelude,
};
use futures_util::future::{BoxFuture, FutureExt};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

fn tools() -> ToolSet {
    let tool = |path: &str| Tool {
        path: path.into(),
        output: Some(json!({})),
        ..Tool::default()
    };
    ToolSet::new(
        ["echo", "fail", "never"].map(tool).into(),
        Default::default(),
    )
    .unwrap()
}

type Waiting = Arc<Mutex<Vec<(u64, Value, bool, oneshot::Sender<Reply>)>>>;

/// Keeps calls waiting until somebody picks one.
#[derive(Clone, Default)]
struct Held(Waiting);

impl ToolHost for Held {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let (sender, receiver) = oneshot::channel();
        let fails = call.path == "fail";
        if call.path != "never" {
            self.0
                .lock()
                .unwrap()
                .push((call.id, call.input, fails, sender));
        }
        async move {
            match receiver.await {
                Ok(reply) => reply,
                Err(_) => std::future::pending().await,
            }
        }
        .boxed()
    }
}

/// A clock that goes on with every look.
fn environment(seed: u64) -> Environment {
    let time = AtomicU64::new(1_700_000_000_000);
    Environment {
        now_ms: Arc::new(move || time.fetch_add(7, Ordering::SeqCst) as f64 / 2.0),
        seed,
    }
}

/// Runs a program whose calls are answered in the order that `picks` says.
fn record(runtime: &Runtime, source: &str, picks: &[usize]) -> (Outcome, RunLog) {
    let host = Held::default();
    let compiled = compile(source).unwrap();
    let cancel = CancelFlag::default();
    let run = runtime.record(&compiled, &host, &cancel, None);
    let answer = async {
        let mut picks = picks.iter().cycle();
        loop {
            // The run polls its calls in between.
            tokio::task::yield_now().await;
            let mut waiting = host.0.lock().unwrap();
            if waiting.is_empty() {
                continue;
            }
            let at = picks.next().copied().unwrap_or(0) % waiting.len();
            let (id, input, fails, sender) = waiting.swap_remove(at);
            let reply = match (fails, id % 2) {
                (true, _) => Err(ToolError {
                    message: format!("call {id} failed"),
                }),
                (false, 0) => Ok(Output::Json(
                    json!({ "id": id, "input": input, "x": 0.1 + id as f64 }),
                )),
                (false, _) => Ok(Output::Text(format!("{{\"id\":{id},\"x\":1e-{id}}}"))),
            };
            let _ = sender.send(reply);
        }
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(async {
            tokio::select! {
                done = run => done.unwrap(),
                () = answer => unreachable!(),
            }
        })
}

const PROGRAM: &str = "
    const seen = []
    const job = async n => {
        for (let i = 0; i < 3; i++) {
            const r = await (n % 3 === 2 && i === 1 ? tools.fail({ n, i }).catch(e => ({ id: e.message })) : tools.echo({ n, i, at: Date.now(), r: Math.random() }))
            seen.push([n, i, r.id, r.x, Date.now(), crypto.randomUUID()])
            console.log(n, i, r.id)
        }
        return Math.random()
    }
    const done = await Promise.all([0, 1, 2, 3].map(job))
    const first = await Promise.race([tools.echo({ a: 1 }), tools.echo({ b: 2 })])
    tools.never({}); tools.fail({ un: 'awaited' })
    await tools.echo(search({ query: 'echo' }).items[0])
    return { seen, done, first, now: new Date() }";

fn same(a: &Outcome, b: &Outcome) -> bool {
    let text = |outcome: &Outcome| outcome.to_json().to_string();
    a == b && text(a) == text(b)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_run_repeats_itself_whatever_the_order_of_its_replies(picks in proptest::collection::vec(0usize..16, 1..20), seed: u64) {
        let runtime = Runtime::new(tools(), Limits::default()).with_environment(environment(seed));
        let (outcome, log) = record(&runtime, PROGRAM, &picks);
        prop_assert!(outcome.result.is_ok(), "{:?}", outcome.result);
        let text = serde_json::to_string(&log).unwrap();
        let read: RunLog = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &log);
        // Another clock and seed make no difference.
        let elsewhere = Runtime::new(tools(), Limits::default());
        prop_assert!(same(&elsewhere.replay(&read).unwrap(), &outcome));
        prop_assert!(same(&elsewhere.replay(&read).unwrap(), &outcome));
    }
}

#[test]
fn the_order_of_replies_shows_in_the_result_and_is_repeated() {
    let runtime = Runtime::new(tools(), Limits::default()).with_environment(environment(1));
    let (a, log_a) = record(&runtime, PROGRAM, &[0]);
    let (b, log_b) = record(&runtime, PROGRAM, &[3, 1, 0]);
    assert_ne!(a.logs, b.logs);
    assert_eq!(runtime.replay(&log_a).unwrap().logs, a.logs);
    assert_eq!(runtime.replay(&log_b).unwrap().logs, b.logs);
}

#[test]
fn a_log_that_doesnt_fit_is_refused_with_the_difference() {
    let runtime = Runtime::new(tools(), Limits::default()).with_environment(environment(1));
    let (_, log) = record(&runtime, PROGRAM, &[1]);
    let refused = |change: &dyn Fn(&mut RunLog)| {
        let mut log = log.clone();
        change(&mut log);
        runtime.replay(&log).unwrap_err().0
    };
    assert!(refused(&|log| log.calls[2].input = "{}".into()).contains("call 2"));
    assert!(refused(&|log| log.calls.truncate(5)).contains("no call 5"));
    assert!(refused(&|log| log.clock.truncate(3)).contains("clock"));
    assert!(refused(&|log| log.source = log.source.replace("i < 3", "i < 2")).contains("log"));
    assert!(refused(&|log| log.source = "let".into()).contains("program"));
    assert!(refused(&|log| log.source = "1".into()).contains("ended before"));
    assert!(refused(&|log| log.cut_off = true).contains("cut off"));
    assert!(refused(&|log| log.seed += 1).contains("call"));
}

#[test]
fn a_time_limit_met_while_waiting_is_repeated_and_one_met_while_computing_isnt() {
    let limits = Limits {
        timeout_ms: Some(60),
        ..Limits::default()
    };
    let runtime = Runtime::new(tools(), limits);
    let (outcome, log) = record(&runtime, "console.log(1); await tools.never({})", &[0]);
    assert!(outcome.result.is_err());
    assert_eq!(log.steps, [Step::Timeout]);
    assert!(same(&runtime.replay(&log).unwrap(), &outcome));
    let (_, log) = record(&runtime, "for (;;);", &[0]);
    assert!(log.cut_off && runtime.replay(&log).is_err());
}

#[test]
fn a_prelude_and_print_are_repeated() {
    let runtime = Runtime::new(tools(), Limits::default());
    let compiled =
        compile_with_prelude("const twice = x => 2 * x", "print(twice(Math.random()))").unwrap();
    let block = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (outcome, log) = block
        .block_on(runtime.record(&compiled, &Held::default(), &CancelFlag::default(), None))
        .unwrap();
    assert_eq!(runtime.replay(&log).unwrap().logs, outcome.logs);
}

struct Picky;

impl Hooks for Picky {
    fn before_tool(&self, call: &Call) -> Result<(), ToolError> {
        match call.input["n"].as_u64() {
            Some(n) if n % 2 == 1 => Err(ToolError {
                message: format!("no {n}"),
            }),
            _ => Ok(()),
        }
    }

    fn before_extension(&self, _: &str, arguments: &[Data]) -> Result<(), ToolError> {
        match arguments {
            [Data::Number(n)] if *n < 0.0 => Err(ToolError {
                message: "negative".into(),
            }),
            _ => Ok(()),
        }
    }
}

#[test]
fn denials_and_extensions_are_repeated_without_asking_anybody() {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let extension = Extension::new("now", move |mut args| {
        let n = count.fetch_add(1, Ordering::SeqCst);
        let given = args.pop();
        match n % 4 {
            0 => Ok(Data::Object(vec![
                ("n".into(), Data::Number(0.1 * n as f64)),
                ("at".into(), Data::Date(5.5)),
                ("bytes".into(), Data::Bytes(vec![1, 2])),
                (
                    "again".into(),
                    Data::Function(Arc::new(move |_| Ok(Data::Number(n as f64 + 0.5)))),
                ),
            ])),
            1 => Err(HostError {
                name: "RangeError".into(),
                ..HostError::new("odd")
            }),
            2 => Ok(Data::Promise(
                async move {
                    tokio::task::yield_now().await;
                    Ok(Data::Map(vec![(Data::Null, Data::BigInt("9".into()))]))
                }
                .boxed(),
            )),
            _ => Ok(given.unwrap_or(Data::Undefined)),
        }
    });
    let make = || {
        Runtime::new(tools(), Limits::default())
            .with_extensions(vec![extension.clone()])
            .unwrap()
            .with_hooks(Arc::new(Picky))
    };
    let source = "const out = []
        const o = now(1); out.push(o.n, o.at.getTime(), o.bytes[1], o.again())
        try { now(-1) } catch (e) { out.push(e.message) }
        try { now() } catch (e) { out.push(e.name) }
        const [a, b] = await Promise.all([now(), tools.echo({ n: 2 })])
        out.push(String(a.get(null)), b.id, now('given'))
        for (const n of [1, 3]) try { await tools.echo({ n }) } catch (e) { out.push(e.message) }
        return out";
    let (outcome, log) = record(&make(), source, &[0]);
    assert!(outcome.result.is_ok(), "{outcome:?}");
    let calls = asked.load(Ordering::SeqCst);
    let read: RunLog = serde_json::from_str(&serde_json::to_string(&log).unwrap()).unwrap();
    assert!(same(&make().replay(&read).unwrap(), &outcome));
    assert_eq!(asked.load(Ordering::SeqCst), calls);
}

#[test]
fn a_recorded_run_can_be_observed_too() {
    let runtime = Runtime::new(tools(), Limits::default());
    let compiled = compile("console.log('x')").unwrap();
    let (sender, mut receiver) = channel(4);
    let block = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    block
        .block_on(runtime.record(
            &compiled,
            &Held::default(),
            &CancelFlag::default(),
            Some(sender),
        ))
        .unwrap();
    assert_eq!(receiver.try_next(), Some(Event::Log { line: "x".into() }));
}

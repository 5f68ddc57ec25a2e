//! Calls from their admission to their end: hooks, events, and the budgets at their edges.

use codemode::events::{Event, Settlement, channel};
use codemode::{
    Call, CancelFlag, Ended, Hooks, Limits, Outcome, Output, Reply, Runtime, Tool, ToolError,
    ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn tools() -> ToolSet {
    let tool = |path: &str| Tool {
        path: path.into(),
        output: Some(json!({})),
        ..Tool::default()
    };
    ToolSet::new(
        ["echo", "slow", "fail", "never", "text"].map(tool).into(),
        Default::default(),
    )
    .unwrap()
}

/// Answers at once, after a turn, or never; keeps the order of the starts and how many ran at a time.
#[derive(Clone, Default)]
struct Host {
    started: Arc<Mutex<Vec<Value>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl ToolHost for Host {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let host = self.clone();
        host.started.lock().unwrap().push(call.input.clone());
        let now = host.running.fetch_add(1, Ordering::SeqCst) + 1;
        host.most.fetch_max(now, Ordering::SeqCst);
        async move {
            let reply = match call.path.as_str() {
                "slow" => {
                    call.progress.report(json!({ "half": true }));
                    // Later calls are answered first.
                    let turns = 20u64.saturating_sub(call.input["n"].as_u64().unwrap_or(0));
                    for _ in 0..turns {
                        tokio::task::yield_now().await;
                    }
                    Ok(Output::Json(call.input))
                }
                "fail" => Err(ToolError {
                    message: "no luck".into(),
                }),
                "never" => std::future::pending().await,
                "text" => Ok(Output::Text(format!("\"{}\"", "x".repeat(8)))),
                _ => Ok(Output::Json(call.input)),
            };
            host.running.fetch_sub(1, Ordering::SeqCst);
            reply
        }
        .boxed()
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

fn run_on(host: &Host, limits: Limits, source: &str) -> Outcome {
    let runtime = Runtime::new(tools(), limits);
    block(runtime.execute(source, host, &CancelFlag::default())).unwrap()
}

fn run(limits: Limits, source: &str) -> Outcome {
    run_on(&Host::default(), limits, source)
}

#[derive(Default)]
struct Watch(Mutex<Vec<String>>);

impl Hooks for Watch {
    fn before_tool(&self, call: &Call) -> Result<(), ToolError> {
        let text = format!("before {} {} {}", call.id, call.path, call.input);
        self.0.lock().unwrap().push(text);
        match call.input.get("deny") {
            Some(_) => Err(ToolError {
                message: "denied by the host".into(),
            }),
            None => Ok(()),
        }
    }

    fn after_tool(&self, call: &Call, ended: Ended<'_, Output>) {
        let text = match ended {
            Ended::Success(Output::Json(value)) if call.path == "search" => {
                format!("success {}", value["remaining"])
            }
            Ended::Success(Output::Json(value)) => format!("success {value}"),
            Ended::Success(Output::Text(text)) => format!("success {text}"),
            Ended::Failure(text) => format!("failure {text}"),
            Ended::Interrupted => "interrupted".to_owned(),
        };
        self.0
            .lock()
            .unwrap()
            .push(format!("after {} {text}", call.id));
    }
}

#[test]
fn hooks_see_every_admitted_call_and_a_denied_one_never_starts() {
    let watch = Arc::new(Watch::default());
    let hooks: Arc<dyn Hooks> = watch.clone();
    let runtime = Runtime::new(tools(), Limits::default()).with_hooks(hooks);
    let host = Host::default();
    let source = "
        await tools.echo({ a: 1 })
        try { await tools.echo({ deny: 1 }) } catch (e) { console.log(e.name, e.message) }
        try { await tools.fail() } catch {}
        search({ limit: 2 })
        tools.never({})
        tools.echo(1, 2).catch(() => {})
        await tools.text()";
    let outcome = block(runtime.execute(source, &host, &CancelFlag::default())).unwrap();
    assert_eq!(outcome.result, Ok(json!("xxxxxxxx")));
    assert_eq!(outcome.logs, ["Error denied by the host"]);
    let names: Vec<&str> = outcome.tool_calls.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["echo", "echo", "fail", "search", "never", "text"]);
    assert_eq!(host.started.lock().unwrap().len(), 4);
    assert_eq!(
        *watch.0.lock().unwrap(),
        [
            "before 0 echo {\"a\":1}",
            "after 0 success {\"a\":1}",
            "before 1 echo {\"deny\":1}",
            "before 2 fail {}",
            "after 2 failure no luck",
            "before 3 search {\"query\":\"\",\"namespace\":null,\"limit\":2,\"offset\":0}",
            "after 3 success 3",
            "before 4 never {}",
            "before 5 text {}",
            "after 5 success \"xxxxxxxx\"",
            "after 4 interrupted",
        ]
    );
    let denied = block(runtime.execute(
        "await tools.echo({ deny: 1 })",
        &host,
        &CancelFlag::default(),
    ))
    .unwrap();
    assert_eq!(
        denied.result.unwrap_err().kind,
        codemode::DiagnosticKind::ToolFailure
    );
}

#[test]
fn cancelling_tells_the_hooks_that_calls_were_interrupted() {
    let watch = Arc::new(Watch::default());
    let hooks: Arc<dyn Hooks> = watch.clone();
    let runtime = Runtime::new(tools(), Limits::default()).with_hooks(hooks);
    let (host, cancel) = (Host::default(), CancelFlag::default());
    let ended = block(async {
        let run = runtime.execute("await tools.never({})", &host, &cancel);
        let stop = async {
            while host.started.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        tokio::join!(run, stop).0
    });
    assert!(ended.is_err());
    assert_eq!(watch.0.lock().unwrap()[1], "after 0 interrupted");
}

fn observe(capacity: usize, source: &str) -> (Outcome, Vec<Event>) {
    let runtime = Runtime::new(tools(), Limits::default());
    let (sender, mut receiver) = channel(capacity);
    let compiled = compile(source).unwrap();
    let outcome =
        block(runtime.run_observed(&compiled, &Host::default(), &CancelFlag::default(), sender))
            .unwrap();
    let mut events = Vec::new();
    block(async {
        while let Some(event) = receiver.next().await {
            events.push(event);
        }
    });
    (outcome, events)
}

#[test]
fn events_tell_calls_progress_and_log_lines_in_order() {
    let source = "
        console.log('one')
        await tools.slow({ n: 19 })
        const job = async () => { await null; await tools.echo({}); try { await tools.fail({}) } catch {} }
        await job()
        tools.never({})
        await null
        console.log('two')";
    let (_, events) = observe(100, source);
    let shown: Vec<String> = events
        .iter()
        .map(|event| match event {
            Event::Started { index, name, .. } => format!("start {index} {name}"),
            Event::Progress { index, value } => format!("progress {index} {value}"),
            Event::Settled {
                index,
                outcome,
                duration_ms,
            } => {
                assert!(*duration_ms >= 0.0);
                format!("end {index} {outcome:?}")
            }
            Event::Log { line } => line.clone(),
            Event::Lost { count } => format!("lost {count}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "one",
            "start 0 slow",
            "progress 0 {\"half\":true}",
            "end 0 Succeeded",
            "start 1 echo",
            "end 1 Succeeded",
            "start 2 fail",
            "end 2 Failed(\"no luck\")",
            "two",
            "start 3 never",
            "end 3 Interrupted",
        ],
    );
    let json = serde_json::to_value(&events[3]).unwrap();
    assert_eq!(
        (json["event"].clone(), json["outcome"].clone()),
        (json!("settled"), json!("succeeded"))
    );
}

#[test]
fn a_tool_that_outlives_the_run_doesnt_keep_the_reader_waiting() {
    struct Keeper(Mutex<Vec<Call>>);
    impl ToolHost for Keeper {
        fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
            self.0.lock().unwrap().push(call);
            async { Ok(Output::Json(Value::Null)) }.boxed()
        }
    }
    let keeper = Keeper(Mutex::default());
    let runtime = Runtime::new(tools(), Limits::default());
    let (sender, mut receiver) = channel(10);
    let compiled = compile("await tools.echo({})").unwrap();
    block(runtime.run_observed(&compiled, &keeper, &CancelFlag::default(), sender)).unwrap();
    keeper.0.lock().unwrap()[0]
        .progress
        .report(json!("too late"));
    let events = block(async {
        let mut count = 0;
        while receiver.next().await.is_some() {
            count += 1;
        }
        count
    });
    assert_eq!(events, 2);
}

#[test]
fn a_call_left_behind_is_told_as_interrupted() {
    let (_, events) = observe(100, "tools.never({}); await tools.echo({})");
    assert!(events.iter().any(|e| matches!(
        e,
        Event::Settled {
            index: 0,
            outcome: Settlement::Interrupted,
            ..
        }
    )));
}

#[test]
fn a_call_that_nobody_awaits_is_started_all_the_same() {
    let host = Host::default();
    let outcome = run_on(
        &host,
        Limits::default(),
        "tools.echo({ n: 1 }); return 'done'",
    );
    assert_eq!(outcome.result, Ok(json!("done")));
    assert_eq!(host.started.lock().unwrap().len(), 1);
    let (_, events) = observe(100, "tools.echo({ n: 1 }); return 'done'");
    assert!(events.iter().any(|e| matches!(
        e,
        Event::Settled {
            index: 0,
            outcome: Settlement::Succeeded,
            ..
        }
    )));
    let host = Host::default();
    let outcome = run_on(
        &host,
        Limits::default(),
        "tools.echo({ n: 1 }); throw 'failed'",
    );
    assert!(outcome.result.is_err());
    assert_eq!(host.started.lock().unwrap().len(), 1);
}

#[test]
fn calls_of_one_asynchronous_function_share_their_parent() {
    let source = "
        const job = async n => { await null; await tools.echo({ n }); await tools.echo({ n }) }
        await tools.echo({ n: 0 })
        await Promise.all([job(1), job(2)])";
    let (_, events) = observe(100, source);
    let parents = |n: u64| -> Vec<Option<u32>> {
        events
            .iter()
            .filter_map(|e| match e {
                Event::Started { input, parent, .. } if input["n"] == n => Some(*parent),
                _ => None,
            })
            .collect()
    };
    assert_eq!(parents(0), [None]);
    let (first, second) = (parents(1), parents(2));
    assert_eq!((first.len(), second.len()), (2, 2));
    assert!(
        first[0].is_some()
            && first[0] == first[1]
            && second[0] == second[1]
            && first[0] != second[0]
    );
}

#[test]
fn a_reader_that_never_reads_costs_neither_time_nor_memory() {
    let source =
        "for (let i = 0; i < 5000; i++) console.log('line ' + i); await tools.echo({}); 'done'";
    let (outcome, events) = observe(8, source);
    assert_eq!(
        (outcome.result, outcome.logs.len()),
        (Ok(json!("done")), 5000)
    );
    assert_eq!(events.len(), 9);
    assert_eq!(
        events[7],
        Event::Log {
            line: "line 7".into()
        }
    );
    assert_eq!(
        events[8],
        Event::Lost {
            count: 5000 - 8 + 2
        }
    );
    let long = "for (let i = 0; i < 5; i++) console.log('x'.repeat(400 * 1024))";
    let (_, events) = observe(100, long);
    assert_eq!(events.len(), 3);
    assert_eq!(events[2], Event::Lost { count: 3 });
}

#[test]
fn what_was_lost_is_told_before_what_comes_next() {
    let runtime = Runtime::new(tools(), Limits::default());
    let (sender, mut receiver) = channel(4);
    let source = "for (let i = 0; i < 6; i++) console.log(i); await tools.echo({ read: 1 }); console.log('after')";
    struct Reader(Mutex<Vec<Event>>, Mutex<codemode::events::EventReceiver>);
    impl Hooks for Reader {
        fn before_tool(&self, _: &Call) -> Result<(), ToolError> {
            while let Some(event) = self.1.lock().unwrap().try_next() {
                self.0.lock().unwrap().push(event);
            }
            Ok(())
        }
    }
    let (other, dummy) = channel(2);
    drop(other);
    let reader = Arc::new(Reader(
        Mutex::default(),
        Mutex::new(std::mem::replace(&mut receiver, dummy)),
    ));
    let hooks: Arc<dyn Hooks> = reader.clone();
    let compiled = compile(source).unwrap();
    let runtime = runtime.with_hooks(hooks);
    block(runtime.run_observed(&compiled, &Host::default(), &CancelFlag::default(), sender))
        .unwrap();
    assert_eq!(
        reader.0.lock().unwrap().last(),
        Some(&Event::Lost { count: 2 })
    );
    assert_eq!(reader.0.lock().unwrap().len(), 5);
    assert!(matches!(
        reader.1.lock().unwrap().try_next(),
        Some(Event::Started { .. })
    ));
}

#[test]
fn a_reader_that_left_doesnt_stop_the_run() {
    let runtime = Runtime::new(tools(), Limits::default());
    let (sender, receiver) = channel(4);
    drop(receiver);
    let compiled = compile("console.log(1); await tools.echo({ a: 1 })").unwrap();
    let outcome =
        block(runtime.run_observed(&compiled, &Host::default(), &CancelFlag::default(), sender))
            .unwrap();
    assert_eq!(outcome.result, Ok(json!({ "a": 1 })));
}

#[test]
fn no_more_calls_run_at_a_time_than_allowed_and_they_start_in_order() {
    let source = "return (await Promise.all(Array.from({ length: 20 }, (_, n) => tools.slow({ n })))).map(r => r.n).join()";
    let all = (0..20).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    for most in [1, 2, 7, 20, 21] {
        let host = Host::default();
        let limits = Limits {
            max_concurrent_calls: Some(most),
            ..Limits::default()
        };
        let outcome = run_on(&host, limits, source);
        assert_eq!(outcome.result, Ok(json!(all)));
        assert_eq!(host.most.load(Ordering::SeqCst), most.min(20));
        let started: Vec<u64> = host
            .started
            .lock()
            .unwrap()
            .iter()
            .map(|i| i["n"].as_u64().unwrap())
            .collect();
        assert_eq!(started, (0..20).collect::<Vec<u64>>());
    }
    let host = Host::default();
    run_on(&host, Limits::default(), source);
    assert_eq!(host.most.load(Ordering::SeqCst), 20);
}

#[test]
fn ten_thousand_calls_are_in_flight_at_once_and_one_more_is_refused() {
    let source = |n: usize| {
        format!("const all = []; for (let n = 0; n < {n}; n++) all.push(tools.echo({{ n }}));
        const r = await Promise.all(all); return [r.length, r[9999].n, r.reduce((a, b) => a + b.n, 0)]")
    };
    let host = Host::default();
    let outcome = run_on(&host, Limits::default(), &source(10_000));
    assert_eq!(outcome.result, Ok(json!([10_000, 9_999, 49_995_000])));
    assert_eq!(outcome.tool_calls.len(), 10_000);
    let outcome = run(Limits::default(), &source(10_001));
    assert!(
        outcome
            .result
            .unwrap_err()
            .message
            .contains("Too many promises are pending")
    );
    let caught = "for (let n = 0; n < 10000; n++) tools.never(); try { tools.never() } catch (e) { return e.name }";
    assert_eq!(
        run(Limits::default(), caught).result,
        Ok(json!("RangeError"))
    );
    let limits = Limits {
        max_concurrent_calls: Some(3),
        ..Limits::default()
    };
    let host = Host::default();
    let outcome = run_on(&host, limits, &source(10_000));
    assert_eq!(outcome.result, Ok(json!([10_000, 9_999, 49_995_000])));
}

#[test]
fn the_last_allowed_call_is_admitted_and_the_next_is_not() {
    let source = "let n = 0; try { for (;;) { await tools.echo({}); n++ } } catch (e) { return [n, e.message] }";
    for most in [0, 1, 5] {
        let limits = Limits {
            max_tool_calls: Some(most),
            ..Limits::default()
        };
        let outcome = run(limits, source);
        assert_eq!(outcome.tool_calls.len() as u64, most);
        let value = outcome.result.unwrap();
        assert_eq!(value[0], json!(most));
    }
}

#[test]
fn an_answer_of_exactly_the_limit_is_taken_and_one_byte_more_is_refused() {
    // `text` answers ten bytes: eight and the quotes.
    let source =
        "try { return [await tools.text(), await tools.echo({})] } catch (e) { return e.message }";
    let with = |bytes| Limits {
        max_call_output_bytes: Some(bytes),
        ..Limits::default()
    };
    assert_eq!(run(with(10), source).result, Ok(json!(["xxxxxxxx", {}])));
    let refused = run(with(9), source).result.unwrap();
    assert!(
        refused
            .as_str()
            .unwrap()
            .contains("10 bytes exceed the limit of 9 bytes")
    );
    let uncaught = run(with(9), "await tools.text()").result.unwrap_err();
    assert_eq!(uncaught.kind, codemode::DiagnosticKind::InvalidToolOutput);
    let json = "try { return await tools.echo({ a: 1 }) } catch (e) { return 'refused' }";
    assert_eq!(run(with(7), json).result, Ok(json!({ "a": 1 })));
    assert_eq!(run(with(6), json).result, Ok(json!("refused")));
}

#[test]
fn output_of_exactly_the_limit_is_kept_whole() {
    let with = |bytes| Limits {
        max_output_bytes: Some(bytes),
        ..Limits::default()
    };
    let whole = run(with(12), "console.log('a'); return '12345678'");
    assert_eq!((whole.truncated, whole.logs), (false, vec!["a".to_owned()]));
    let cut = run(with(11), "console.log('a'); return '12345678'");
    assert_eq!(
        (cut.truncated, cut.logs[0].as_str()),
        (true, "[logs truncated: showing 0 of 1 lines]")
    );
    let cut = run(with(9), "return '12345678'");
    assert!(cut.truncated);
}

#[test]
fn fuel_and_heap_are_enough_or_not() {
    let spend = |fuel| {
        run(
            Limits {
                fuel: Some(fuel),
                ..Limits::default()
            },
            "let i = 0; for (; i < 1000; i++); return i",
        )
        .result
        .is_ok()
    };
    let least = (1..5_000).find(|&fuel| spend(fuel)).unwrap();
    assert!(least > 500 && (least..least + 50).all(spend), "{least}");
    assert!((1..least).all(|fuel| !spend(fuel)));
    let hold = |heap_bytes| {
        run(Limits { heap_bytes, ..Limits::default() }, "const a = []; try { for (let i = 0; i < 1e5; i++) a.push('x' + i) } catch (e) { return e.name } return a.length").result
    };
    assert_eq!(hold(64 << 20), Ok(json!(100_000)));
    assert_eq!(hold(1 << 20), Ok(json!("RangeError")));
}

struct Slow;

impl ToolHost for Slow {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            Ok(Output::Json(call.input))
        }
        .boxed()
    }
}

#[test]
fn waiting_for_tools_counts_against_the_time_or_not() {
    let timed = |exclude_tool_time, source: &str| {
        let limits = Limits {
            timeout_ms: Some(200),
            exclude_tool_time,
            ..Limits::default()
        };
        let runtime = Runtime::new(tools(), limits);
        block(runtime.execute(source, &Slow, &CancelFlag::default()))
            .unwrap()
            .result
            .is_ok()
    };
    assert!(!timed(false, "await tools.echo({})"));
    assert!(timed(true, "await tools.echo({}); await tools.echo({})"));
    assert!(!timed(true, "await tools.echo({}); for (;;);"));
    assert!(!timed(true, "await new Promise(() => {})"));
}

#[test]
fn limits_from_json_are_checked_one_by_one() {
    let bad = |json: Value| Limits::from_json(&json).unwrap_err().0;
    for key in ["timeoutMs", "maxConcurrentCalls", "heapBytes", "fuel"] {
        assert!(bad(json!({ key: 0 })).starts_with("RangeError: "), "{key}");
        assert!(Limits::from_json(&json!({ key: 1 })).is_ok(), "{key}");
    }
    for key in ["maxToolCalls", "maxOutputBytes", "maxCallOutputBytes"] {
        assert!(Limits::from_json(&json!({ key: 0 })).is_ok(), "{key}");
        for wrong in [
            json!(-1),
            json!(1.5),
            json!("1"),
            json!(9_007_199_254_740_992u64),
        ] {
            assert!(bad(json!({ key: wrong })).contains(key), "{key}");
        }
    }
    assert!(bad(json!({ "timeoutMS": 1 })).contains("did you mean timeoutMs?"));
    assert!(bad(json!([])).contains("must be an object"));
    assert!(bad(json!({ "truncation": "some" })).contains("unknown truncation"));
    assert!(bad(json!({ "excludeToolTime": 1 })).contains("true or false"));
}

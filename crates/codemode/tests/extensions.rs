//! Host functions as globals: what crosses and how.

use codemode::{
    Call, CancelFlag, Data, Ended, Extension, Hooks, HostError, Limits, Outcome, Output, Reply,
    Runtime, ToolError, ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

struct NoTools;

impl ToolHost for NoTools {
    fn call(&self, _: Call) -> BoxFuture<'static, Reply> {
        async { Ok(Output::Json(Value::Null)) }.boxed()
    }
}

fn identity(mut args: Vec<Data>) -> Result<Data, HostError> {
    Ok(if args.is_empty() {
        Data::Undefined
    } else {
        args.swap_remove(0)
    })
}

fn extensions() -> Vec<Extension> {
    vec![
        Extension::new("same", identity),
        Extension::new("shown", |args| Ok(Data::String(format!("{args:?}")))),
        Extension::new("later", |args| {
            Ok(Data::Promise(
                async move {
                    tokio::task::yield_now().await;
                    identity(args)
                }
                .boxed(),
            ))
        }),
        Extension::new("awaitAll", |args| {
            Ok(Data::Promise(
                async move {
                    let mut out = Vec::new();
                    for arg in args {
                        out.push(match arg {
                            Data::Promise(promise) => match promise.await {
                                Ok(data) => data,
                                Err(error) => {
                                    Data::String(format!("{}: {}", error.name, error.message))
                                }
                            },
                            other => other,
                        });
                    }
                    Ok(Data::Array(out))
                }
                .boxed(),
            ))
        }),
        Extension::new("fails", |_| {
            Err(HostError {
                name: "TypeError".into(),
                message: "not today".into(),
                cause: Some(Box::new(Data::Error(Box::new(HostError::new("deeper"))))),
                fields: vec![("code".into(), Data::String("E1".into()))],
            })
        }),
        Extension::new("fetch", |args| {
            let body = args
                .first()
                .and_then(Data::as_str)
                .unwrap_or_default()
                .to_owned();
            Ok(Data::Promise(
                async move {
                    Ok(Data::Object(vec![
                        ("status".into(), Data::Number(200.0)),
                        (
                            "json".into(),
                            Data::Function(Arc::new(move |_| {
                                let json = serde_json::from_str(&body)
                                    .map_err(|e| HostError::new(e.to_string()))?;
                                Ok(Data::from_json(&json))
                            })),
                        ),
                    ]))
                }
                .boxed(),
            ))
        }),
    ]
}

fn runtime() -> Runtime {
    Runtime::new(ToolSet::default(), Limits::default())
        .with_extensions(extensions())
        .unwrap()
}

fn run(runtime: &Runtime, source: &str) -> Outcome {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(runtime.execute(source, &NoTools, &CancelFlag::default()))
        .unwrap()
}

fn value(source: &str) -> Value {
    let outcome = run(&runtime(), source);
    assert_eq!(outcome.tool_calls, []);
    outcome.result.unwrap_or_else(|e| panic!("{e:?}: {source}"))
}

#[test]
fn every_kind_of_value_crosses_both_ways_as_a_fresh_copy() {
    let source = "
        const given = { d: new Date(5), r: /a+/gi, u: new URL('https://x.org/?q=1'), h: new Headers({ A: 'b' }),
            m: new Map([[1, { a: [1, , 2] }]]), s: new Set(['x', 1n]), b: new Uint8Array([1, 2]), n: null, un: undefined, nan: NaN }
        const back = same(given)
        return [back.d instanceof Date && back.d.getTime(), back.r instanceof RegExp && String(back.r), back.u.searchParams.get('q'),
            back.h.get('a'), back.m.get(1).a.length, [...back.s].map(String), back.b instanceof Uint8Array && back.b[1], back.n,
            'un' in back, Object.is(back.nan, NaN), back !== given, back.m !== given.m, back.d !== given.d]";
    assert_eq!(
        value(source),
        json!([
            5,
            "/a+/gi",
            "1",
            "b",
            3,
            ["x", "1"],
            2,
            null,
            true,
            true,
            true,
            true,
            true
        ])
    );
}

#[test]
fn errors_keep_name_message_cause_and_data() {
    let source = "
        const out = []
        try { fails() } catch (e) { out.push(e instanceof TypeError, e.name, e.message, e.cause.message, e.code, 'stack' in e) }
        const odd = new Error('own', { cause: [1] }); odd.name = 'Odd'; odd.code = 7
        const back = same(odd)
        out.push(back instanceof Error, back.name, back.message, back.cause[0], back.code)
        return out";
    assert_eq!(
        value(source),
        json!([
            true,
            "TypeError",
            "not today",
            "deeper",
            "E1",
            false,
            true,
            "Odd",
            "own",
            1,
            7
        ])
    );
    let outcome = run(&runtime(), "fails()");
    assert!(
        outcome
            .result
            .unwrap_err()
            .message
            .contains("TypeError: not today")
    );
}

#[test]
fn promises_are_joined_in_both_directions() {
    assert_eq!(
        value(
            "return [await later([1]), await awaitAll(Promise.resolve(1), (async () => { await null; return { a: 2 } })(), Promise.reject(new RangeError('no')))]"
        ),
        json!([[1], [1, { "a": 2 }, "RangeError: no"]])
    );
    assert_eq!(
        value(
            "return [await Promise.race([later(1), new Promise(() => {})]), typeof later(1).then]"
        ),
        json!([1, "function"])
    );
}

#[test]
fn functions_of_results_can_be_called_and_functions_of_the_program_stay() {
    assert_eq!(
        value(
            "const res = await fetch('{\"a\":[1]}'); return [res.status, res.json(), same(res.json)().a]"
        ),
        json!([200, { "a": [1] }, [1]])
    );
    let refused = "const out = []
        for (const f of [() => 1, Math.max, class {}, Symbol('x'), tools.a]) try { same({ f }); out.push(0) } catch (e) { out.push(e.name) }
        return out";
    assert_eq!(
        value(refused),
        json!([
            "TypeError",
            "TypeError",
            "TypeError",
            "TypeError",
            "TypeError"
        ])
    );
}

#[test]
fn data_is_refused_at_level_33_and_taken_at_32() {
    let nested = |n: usize| {
        format!("let x = 1; for (let i = 0; i < {n}; i++) x = [x]; same(x); return 'fine'")
    };
    assert_eq!(value(&nested(32)), json!("fine"));
    let error = run(&runtime(), &nested(33)).result.unwrap_err();
    assert!(
        error.message.contains("nested deeper than 32 levels"),
        "{}",
        error.message
    );
    let cyclic = "const m = new Map(); m.set(1, m); try { same(m) } catch (e) { return e.name }";
    assert_eq!(value(cyclic), json!("RangeError"));
}

#[test]
fn an_extension_is_a_read_only_global_that_can_be_shadowed() {
    assert_eq!(
        value("return [typeof same, same.name, typeof nothing]"),
        json!(["function", "same", "undefined"])
    );
    assert_eq!(value("const same = x => -x; return same(3)"), json!(-3));
    assert_eq!(
        value("try { same = 1 } catch (e) { return e.name }"),
        json!("TypeError")
    );
    assert_eq!(
        value("try { new same() } catch (e) { return e.name }"),
        json!("TypeError")
    );
}

#[test]
fn a_name_that_is_taken_or_no_name_is_refused_when_the_runtime_is_made() {
    for name in [
        "tools",
        "Map",
        "search",
        "undefined",
        "a b",
        "",
        "1a",
        "class",
        "if",
    ] {
        let made = Runtime::new(ToolSet::default(), Limits::default())
            .with_extensions(vec![Extension::new(name, identity)]);
        assert!(made.is_err(), "{name}");
    }
    let twice = vec![Extension::new("x", identity), Extension::new("x", identity)];
    assert!(
        Runtime::new(ToolSet::default(), Limits::default())
            .with_extensions(twice)
            .is_err()
    );
    let compiled = compile("same(1); sane(2)").unwrap();
    let problems = runtime().check(&compiled);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("sane is not defined"));
}

#[derive(Default)]
struct Watch(Mutex<Vec<String>>);

impl Hooks for Watch {
    fn before_extension(&self, name: &str, arguments: &[Data]) -> Result<(), ToolError> {
        self.0
            .lock()
            .unwrap()
            .push(format!("before {name} {arguments:?}"));
        match arguments.first().and_then(Data::as_str) {
            Some("secret") => Err(ToolError {
                message: "not that".into(),
            }),
            _ => Ok(()),
        }
    }

    fn after_extension(&self, name: &str, ended: Ended<'_, Data>) {
        self.0
            .lock()
            .unwrap()
            .push(format!("after {name} {ended:?}"));
    }
}

#[test]
fn hooks_see_extensions_before_and_after_and_can_deny_them() {
    let watch = Arc::new(Watch::default());
    let hooks: Arc<dyn Hooks> = watch.clone();
    let runtime = runtime().with_hooks(hooks);
    let outcome = run(
        &runtime,
        "same(1); try { same('secret') } catch (e) { console.log(e.message) } try { fails() } catch {} await later(2); awaitAll(new Promise(() => {})); null",
    );
    assert_eq!(outcome.logs, ["not that"]);
    drop(outcome);
    let seen = watch.0.lock().unwrap();
    assert_eq!(
        *seen,
        [
            "before same [1.0]",
            "after same Success(1.0)",
            "before same [\"secret\"]",
            "before fails []",
            "after fails Failure(\"not today\")",
            "before later [2.0]",
            "after later Success(2.0)",
            "before awaitAll [Promise]",
            "after awaitAll Interrupted",
        ]
    );
}

//! The rows of CPU and host work against QuickJS-ng in the same process: ratio, times and target of each.

use codemode::{
    Call, CancelFlag, Limits, Output, Reply, Runtime, Tool, ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Host {
    text: Arc<String>,
}

impl ToolHost for Host {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        let text = Arc::clone(&self.text);
        async move {
            match call.path.as_str() {
                "rows" => Ok(Output::Text(text.as_str().to_owned())),
                _ => Ok(Output::Json(call.input)),
            }
        }
        .boxed()
    }
}

const ROWS: [(&str, f64, &str); 16] = [
    (
        "loop 100k",
        2.0,
        "let s = 0; for (let i = 0; i < 100000; i++) { s += i % 7 } return s",
    ),
    (
        "fib(20)",
        2.0,
        "const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(20)",
    ),
    (
        "sort 10k",
        2.0,
        "const a = []; let x = 1; for (let i = 0; i < 10000; i++) { x = (x * 1103515245 + 12345) % 2147483648; a.push(x) } a.sort((p, q) => p - q); return a[5000]",
    ),
    (
        "string 20k",
        2.0,
        "let s = ''; for (let i = 0; i < 20000; i++) { s += 'ab' + i } return s.length",
    ),
    (
        "sieve 50k",
        2.0,
        "const n = 50000, p = new Array(n + 1).fill(true); let c = 0; for (let i = 2; i <= n; i++) { if (p[i]) { c++; for (let j = i * i; j <= n; j += i) p[j] = false } } return c",
    ),
    (
        "map/filter/reduce 20k",
        2.0,
        "return Array.from({ length: 20000 }, (_, i) => i).map(x => x * 2).filter(x => x % 3 === 0).reduce((a, b) => a + b, 0)",
    ),
    (
        "counters 20k",
        2.0,
        "const c = {}; for (let i = 0; i < 20000; i++) { const k = 'k' + (i % 100); c[k] = (c[k] || 0) + 1 } return Object.keys(c).length",
    ),
    (
        "closures 5k",
        2.0,
        "const fs = []; for (let i = 0; i < 5000; i++) { let n = i; fs.push(() => { n++; return n }) } let s = 0; for (const f of fs) s += f() + f(); return s",
    ),
    (
        "regex 44 kB",
        2.0,
        "const t = 'the quick brown fox 12345 jumps over '.repeat(1200); return t.match(/[a-z]+\\s\\d+/g).length",
    ),
    (
        "JSON 240 kB",
        1.0,
        "const a = []; for (let i = 0; i < 3000; i++) a.push({ id: i, name: 'item ' + i, tags: ['a', 'b'], ok: true, n: i / 3 }); return JSON.parse(JSON.stringify(a)).length",
    ),
    (
        "generator 50k",
        2.0,
        "function* g() { for (let i = 0; i < 50000; i++) yield i } let s = 0; for (const x of g()) s += x; return s",
    ),
    (
        "Map/Set 50k",
        2.0,
        "const m = new Map(), t = new Set(); for (let i = 0; i < 50000; i++) { m.set(i, i); t.add('x' + (i % 1000)) } let s = 0; for (const [k, v] of m) s += v; return s + t.size",
    ),
    (
        "recursion 9,000 deep",
        2.0,
        "const deep = n => n === 0 ? 0 : 1 + deep(n - 1); let s = 0; for (let i = 0; i < 20; i++) s += deep(9000); return s",
    ),
    (
        "split/join 1 MB",
        2.0,
        "const t = 'lorem ipsum,'.repeat(87000); return t.split(',').join(';').length",
    ),
    ("regex (a+)+b", 2.0, "return /(a+)+b/.test('a'.repeat(20))"),
    ("constraints in classes", 2.0, CONSTRAINTS),
];

/// A chain of variables held equal by constraint objects, in the manner of DeltaBlue: classes, dispatch, small arrays.
const CONSTRAINTS: &str = "
class Variable { constructor(value) { this.value = value; this.users = []; this.stamp = 0 } }
class Constraint {
  constructor(strength) { this.strength = strength; this.done = false }
  isStronger(other) { return this.strength < other.strength }
  run(mark) { if (this.output().stamp === mark) return false; this.output().stamp = mark; this.execute(); return true }
}
class Edit extends Constraint {
  constructor(v) { super(1); this.v = v; v.users.push(this) }
  output() { return this.v }
  execute() {}
}
class Equal extends Constraint {
  constructor(a, b) { super(2); this.a = a; this.b = b; a.users.push(this) }
  output() { return this.b }
  execute() { this.b.value = this.a.value }
}
class Scale extends Equal {
  constructor(a, b, by) { super(a, b); this.by = by }
  execute() { this.b.value = this.a.value * this.by % 1000003 }
}
const vars = Array.from({ length: 400 }, (_, i) => new Variable(i));
const all = [new Edit(vars[0])];
for (let i = 1; i < vars.length; i++) {
  all.push(i % 3 ? new Equal(vars[i - 1], vars[i]) : new Scale(vars[i - 1], vars[i], i));
}
let total = 0;
for (let mark = 1; mark <= 40; mark++) {
  vars[0].value = mark;
  const todo = [all[0]];
  while (todo.length) {
    const c = todo.pop();
    if (!c.run(mark)) continue;
    for (const user of c.output().users) if (user !== c && c.isStronger({ strength: 3 })) todo.push(user);
  }
  total += vars[vars.length - 1].value;
}
return total";

/// Ten thousand turns, against QuickJS-ng with its pending jobs run to their end.
const TURNS: &str = "let n = 0; for (let i = 0; i < 10000; i++) { await null; n++ } return n";

fn quickjs_turns(count: usize) -> (Duration, Duration) {
    let runtime = rquickjs::Runtime::new().unwrap();
    let wrapped = format!("(async () => {{ {TURNS} }})(); 0");
    times(count, || {
        let context = rquickjs::Context::full(&runtime).unwrap();
        context.with(|ctx| {
            ctx.eval::<rquickjs::Value<'_>, _>(wrapped.as_str())
                .map(|_| ())
                .unwrap();
        });
        while runtime.execute_pending_job().unwrap() {}
    })
}

fn times(count: usize, mut f: impl FnMut()) -> (Duration, Duration) {
    let mut list: Vec<Duration> = (0..count)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed()
        })
        .collect();
    list.sort();
    (list[list.len() / 2], list[0])
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

fn verdict(fine: bool) -> &'static str {
    if fine { "ok" } else { "MISS" }
}

fn quickjs(source: &str, count: usize) -> (Duration, Duration) {
    let runtime = rquickjs::Runtime::new().unwrap();
    let wrapped = format!("(() => {{ {source} }})()");
    times(count, || {
        let context = rquickjs::Context::full(&runtime).unwrap();
        context.with(|ctx| {
            ctx.eval::<rquickjs::Value<'_>, _>(wrapped.as_str())
                .map(|_| ())
                .unwrap();
        });
    })
}

fn main() {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let rows: Vec<serde_json::Value> = (0..3600)
        .map(|i| {
            let state = ["open", "closed", "merged"][i % 3];
            serde_json::json!({ "id": i, "name": format!("row number {i}"), "state": state,
                "author": { "login": format!("user{}", i % 50), "url": format!("https://example.com/users/{}", i % 50) },
                "labels": ["bug", "help wanted"], "body": "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore." })
        })
        .collect();
    let text = Arc::new(serde_json::Value::from(rows).to_string());
    let host = Host {
        text: Arc::clone(&text),
    };
    let tool = |path: String| Tool {
        path,
        description: "Lists the things of a kind that somebody asked for".into(),
        output: Some(serde_json::json!({})),
        input: Some(
            serde_json::json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
        ),
        validate: false,
    };
    let mut tools: Vec<Tool> = (0..998)
        .map(|i| tool(format!("space{}.tool{i}", i % 20)))
        .collect();
    tools.extend([tool("rows".into()), tool("echo".into())]);
    let runtime = Runtime::new(
        ToolSet::new(tools, Default::default()).unwrap(),
        Limits::default(),
    );
    let cancel = CancelFlag::default();
    let run = |source: &str| {
        let outcome = executor
            .block_on(runtime.execute(source, &host, &cancel))
            .unwrap();
        outcome.result.unwrap()
    };

    for (name, target, source) in ROWS {
        run(source);
        let (median, least) = times(9, || {
            run(source);
        });
        let (theirs, their_least) = quickjs(source, 9);
        let ratio = ms(least) / ms(their_least);
        println!(
            "bench {name}: {ratio:.2}x of QuickJS-ng (target <= {target}x) {}{} — {:.2} ms (min {:.2}) against {:.2} (min {:.2})",
            verdict(ratio <= target),
            if ratio <= 1.0 { ", stretch" } else { "" },
            ms(median),
            ms(least),
            ms(theirs),
            ms(their_least)
        );
    }

    run(TURNS);
    let (median, least) = times(9, || {
        run(TURNS);
    });
    let (theirs, their_least) = quickjs_turns(9);
    let ratio = ms(least) / ms(their_least);
    println!(
        "bench await null 10k: {ratio:.2}x of QuickJS-ng (target <= 2x) {} — {:.2} ms (min {:.2}) against {:.2} (min {:.2})",
        verdict(ratio <= 2.0),
        ms(median),
        ms(least),
        ms(theirs),
        ms(their_least)
    );

    let small = "const items = [1, 2, 3]\nreturn { total: items.map(x => x * 2).length, ok: true }";
    let (median, least) = times(300, || {
        run(small);
    });
    let fine = ms(least) <= 0.030;
    println!(
        "bench small program: {:.1} µs median, {:.1} min (target <= 30 µs) {}",
        ms(median) * 1e3,
        ms(least) * 1e3,
        verdict(fine)
    );
    let (_, parse) = times(300, || {
        compile(small).unwrap();
    });
    println!(
        "bench small program, compile alone: {:.1} µs min",
        ms(parse) * 1e3
    );

    let transform = "const rows = await tools.rows(); const by = {}; for (const r of rows) { if (r.state === 'open') (by[r.author.login] ??= []).push(r.id) } return Object.keys(by).length";
    let (median, least) = times(9, || {
        run(transform);
    });
    let quick = format!(
        "const rows = JSON.parse({}); const by = {{}}; for (const r of rows) {{ if (r.state === 'open') (by[r.author.login] ??= []).push(r.id) }} return Object.keys(by).length",
        serde_json::Value::from(text.as_str())
    );
    let (_, literal) = quickjs(
        &format!("return {}.length", serde_json::Value::from(text.as_str())),
        5,
    );
    let (_, theirs) = quickjs(&quick, 5);
    let theirs = theirs.saturating_sub(literal);
    let ratio = ms(least) / ms(theirs);
    println!(
        "bench transform of {} kB tool output: {ratio:.2}x of QuickJS-ng (target <= 0.4x) {} — {:.2} ms (min {:.2}) against {:.2}",
        text.len() / 1000,
        verdict(ratio <= 0.4),
        ms(median),
        ms(least),
        ms(theirs)
    );

    let parallel = "const r = await Promise.all(Array.from({ length: 1000 }, (_, i) => tools.echo({ i }))); return r.length";
    let (median, least) = times(9, || {
        run(parallel);
    });
    println!(
        "bench 1,000 parallel calls: {:.2} ms median, {:.2} min (target <= 3 ms) {}",
        ms(median),
        ms(least),
        verdict(ms(least) <= 3.0)
    );

    run("search({ query: 'things' }); return 1");
    let (median, least) = times(20, || {
        run("return search({ query: 'tool7 things' }).items.length");
    });
    println!(
        "bench search over 1,000 tools: {:.3} ms median, {:.3} min (target <= 1 ms) {}",
        ms(median),
        ms(least),
        verdict(ms(least) <= 1.0)
    );

    for (name, source) in [
        ("busy loop", "for (;;) {}"),
        ("regex", "/(a+)+b/.test('a'.repeat(60))"),
    ] {
        let mut list = Vec::new();
        for _ in 0..7 {
            let flag = CancelFlag::default();
            let remote = flag.clone();
            let (send, receive) = std::sync::mpsc::channel();
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(10));
                send.send(Instant::now()).unwrap();
                remote.cancel();
            });
            assert!(
                executor
                    .block_on(runtime.execute(source, &host, &flag))
                    .is_err()
            );
            list.push(receive.recv().unwrap().elapsed());
            canceller.join().unwrap();
        }
        list.sort();
        println!(
            "bench cancel in a {name}: {:.2} ms median, {:.2} min (target <= 5 ms) {}",
            ms(list[3]),
            ms(list[0]),
            verdict(ms(list[3]) <= 5.0)
        );
    }
}

//! The check before a run of a five-kilobyte program: parsing, and finding no problem in it, against the parse alone.

use codemode::{Tool, ToolSet, compile};
use serde_json::json;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Longest that a check of five kilobytes may take, in microseconds.
const TARGET_US: f64 = 1_000.0;

fn program() -> String {
    let step = "const r0 = await tools.github.listIssues({ repo: 'a/b', state: 'open', limit: 10 })
for (const { title, number } of r0.items.filter(i => i.labels.includes('bug'))) {
  console.log(`${number}: ${title}`, r0.total - 1)
}
";
    let mut source = String::new();
    let mut n = 0;
    while source.len() < 5_000 {
        source.push_str(&step.replace("r0", &format!("r{n}")));
        n += 1;
    }
    source
}

fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let issue = json!({ "type": "object", "properties": { "title": { "type": "string" },
        "number": { "type": "integer" }, "labels": { "type": "array", "items": { "type": "string" } } } });
    let tool = Tool {
        path: "github.listIssues".into(),
        input: Some(
            json!({ "type": "object", "required": ["repo"], "additionalProperties": false, "properties": {
            "repo": { "type": "string" }, "state": { "enum": ["open", "closed"] }, "limit": { "type": "integer" } } }),
        ),
        output: Some(
            json!({ "type": "object", "properties": { "items": { "type": "array", "items": issue },
            "total": { "type": "integer" } } }),
        ),
        ..Tool::default()
    };
    let Ok(tools) = ToolSet::new(vec![tool], Default::default()) else {
        return println!("bench check: no tools");
    };
    let source = program();
    let Ok(compiled) = compile(&source) else {
        return println!("bench check: no program");
    };
    let found = compiled.check(&tools).len();
    let check = median(|| drop(black_box(compiled.check(&tools))));
    let build = median(|| {
        black_box(compile(&source).is_ok());
    });
    let us = check.as_secs_f64() * 1e6;
    println!(
        "bench check of {} bytes: {us:.0} us, {:.2}x of compiling it (target <= {TARGET_US} us) {}; {found} false alarms",
        source.len(),
        check.as_secs_f64() / build.as_secs_f64(),
        if us <= TARGET_US && found == 0 {
            "ok"
        } else {
            "MISS"
        },
    );
}

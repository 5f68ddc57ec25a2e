//! Any text as a program: it is checked and run within its limits, with no panic, and gives the same outcome twice.

#![no_main]

use codemode::{
    Call, CancelFlag, Environment, Limits, Output, Reply, Runtime, Tool, ToolHost, ToolSet, compile,
};
use futures_util::future::{BoxFuture, FutureExt};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

struct Echo;

impl ToolHost for Echo {
    fn call(&self, call: Call) -> BoxFuture<'static, Reply> {
        async { Ok(Output::Json(call.input)) }.boxed()
    }
}

fn runtime() -> Runtime {
    let tool = |path: &str| Tool {
        path: path.to_owned(),
        input: Some(serde_json::json!({ "type": "object", "properties": { "id": { "type": "string" } } })),
        output: Some(serde_json::json!({ "type": "object", "properties": { "items": { "type": "array" } } })),
        ..Tool::default()
    };
    let tools = ToolSet::new(vec![tool("github.listIssues"), tool("users.get")], Default::default());
    let limits = Limits {
        fuel: Some(20_000),
        heap_bytes: 8 << 20,
        max_tool_calls: Some(50),
        max_output_bytes: Some(10_000),
        ..Limits::default()
    };
    let environment = Environment {
        now_ms: Arc::new(|| 1_700_000_000_000.0),
        seed: 7,
    };
    Runtime::new(tools.unwrap_or_default(), limits).with_environment(environment)
}

fuzz_target!(|source: &str| {
    let runtime = runtime();
    let Ok(compiled) = compile(source) else {
        return;
    };
    runtime.check(&compiled);
    let run = || {
        let executor = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        executor.block_on(runtime.record(&compiled, &Echo, &CancelFlag::default(), None))
    };
    let (first, second) = (run(), run());
    assert_eq!(first, second);
    if let Ok((outcome, log)) = first {
        assert_eq!(runtime.replay(&log).as_ref(), Ok(&outcome));
    }
});

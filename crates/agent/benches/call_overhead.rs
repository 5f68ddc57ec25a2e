//! What a tool call costs beside the tool's own work: through the whole loop, against the same reads by the function
//! that the tool calls. Target: at most 1 ms a call.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::{LoopEvent, LoopOptions, Model, SeatTools, run_turn};
use futures_util::future::BoxFuture;
use models::{ChatMessage, ChatRole, Completion, Finish, ModelError, StreamEvent, ToolCall};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::{Guard, NobodyAsks, Registry, Session, Tier, TurnMessage, Workbench};
use workspace::{ReadLedger, ReadRequest, Workspace};

const ROUNDS: u32 = 200;
const TARGET: Duration = Duration::from_millis(1);

/// Calls `read_file` with another first line each round, then answers.
struct Reader;

impl Model for Reader {
    fn stream<'a>(
        &'a self,
        messages: &'a [ChatMessage],
        offer_tools: bool,
        _: mpsc::Sender<StreamEvent>,
        _: CancellationToken,
    ) -> BoxFuture<'a, Result<Completion, ModelError>> {
        let line = messages.len() / 2 + 1;
        let call = ToolCall {
            id: "a".into(),
            name: "read_file".into(),
            arguments: format!("{{\"path\":\"a.txt\",\"offset\":{line},\"limit\":1}}"),
            extra: serde_json::Map::new(),
        };
        let completion = Completion {
            finish: Finish::Stop,
            usage: None,
            tool_calls: if offer_tools { vec![call] } else { Vec::new() },
            model: None,
        };
        Box::pin(std::future::ready(Ok(completion)))
    }
}

fn main() {
    let (folder, data) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let text: String = (0..400).map(|line| format!("line {line}\n")).collect();
    std::fs::write(folder.path().join("a.txt"), text).expect("written");
    let workspace = Workspace::open(&[folder.path()]).expect("opened");
    let (workbench, _) = Workbench::open(workspace, data.path(), None).expect("opened");
    let workbench = Arc::new(workbench);
    let floor = bare_reads(&workbench);
    let message = TurnMessage {
        id: "m".into(),
        at_millis: 0,
    };
    let seat = SeatTools {
        guard: Guard::new(Registry::built_in(), Arc::clone(&workbench)),
        session: Arc::new(Session::new(message)),
        seat: "ann".into(),
        tier: Tier::Read,
        asker: Arc::new(NobodyAsks),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build();
    let runtime = runtime.expect("a runtime");
    let options = LoopOptions {
        max_rounds: ROUNDS,
        ..LoopOptions::new(|_| true)
    };
    let prompt = vec![ChatMessage::new(ChatRole::User, "read")];
    let began = Instant::now();
    let mut observer = |_: LoopEvent<'_>| {};
    let cancel = CancellationToken::new();
    let turn = run_turn(
        options,
        prompt,
        true,
        &Reader,
        &seat,
        &mut observer,
        &cancel,
    );
    let outcome = runtime.block_on(turn);
    let each = began.elapsed() / ROUNDS;
    assert_eq!(outcome.messages.len() as u32, 2 * ROUNDS + 2);
    let overhead = each.saturating_sub(floor);
    let verdict = if overhead <= TARGET { "ok" } else { "MISS" };
    println!(
        "a call through the loop: {each:?}; the bare read: {floor:?}; overhead {overhead:?}, {:.1} x the read; target {TARGET:?}: {verdict}",
        each.as_secs_f64() / floor.as_secs_f64()
    );
}

/// The time of a read without registry, guard and loop.
fn bare_reads(workbench: &Workbench) -> Duration {
    let ledger = ReadLedger::default();
    let began = Instant::now();
    for line in 0..ROUNDS {
        let request = ReadRequest {
            path: "a.txt".into(),
            offset: Some(u64::from(line) + 1),
            limit: Some(1),
        };
        black_box(
            workbench
                .workspace
                .read_file(&request, &ledger)
                .expect("read"),
        );
    }
    began.elapsed() / ROUNDS
}

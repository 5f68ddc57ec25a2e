//! Running commands: what they see, what is kept of them, and that nothing of them is left.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use commands::{CommandResult, CommandSpec, OutputRequest, Runner};
use tempfile::TempDir;

/// Generous: no test waits this long unless something is wrong.
const LONG: Duration = Duration::from_secs(60);

struct Bench {
    folder: TempDir,
    runner: Runner,
    stop: Arc<AtomicBool>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        Self {
            runner: Runner::open(&folder.path().join("outputs"), None).unwrap(),
            folder,
            stop: Arc::default(),
        }
    }

    fn spec(&self, command: &str) -> CommandSpec {
        CommandSpec {
            hand_back_after: LONG,
            ..CommandSpec::new(command, self.folder.path().join("w"))
        }
    }

    fn run(&self, command: &str) -> CommandResult {
        self.runner.run(&self.spec(command), &self.stop).unwrap()
    }

    /// Waits until a file of this name is there, and reads it.
    fn wait_for(&self, name: &str) -> String {
        let path = self.folder.path().join("w").join(name);
        let started = Instant::now();
        loop {
            match fs::read_to_string(&path) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => assert!(started.elapsed() < LONG, "{name} never came"),
            }
            std::thread::yield_now();
        }
    }
}

fn lives(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn wait_until_gone(pid: &str) {
    let started = Instant::now();
    while lives(pid) {
        assert!(started.elapsed() < LONG, "{pid} still lives");
        std::thread::yield_now();
    }
}

#[test]
fn streams_and_exit_codes_are_told_apart() {
    let bench = Bench::new();
    let result = bench.run("echo out; echo err >&2; pwd; exit 3");
    assert_eq!(
        (result.exit_code, result.signal, result.job_id),
        (Some(3), None, None)
    );
    let folder = fs::canonicalize(bench.folder.path().join("w")).unwrap();
    assert_eq!(result.stdout, format!("out\n{}\n", folder.display()));
    assert_eq!(result.stderr, "err\n");
    let killed = bench.run("kill -KILL $$");
    assert_eq!((killed.exit_code, killed.signal), (None, Some(9)));
    assert_eq!(bench.run("exit 200").exit_code, Some(200));
    assert_eq!(result.sandbox.label(), "not sandboxed");
}

#[test]
fn silence_kills_nothing_and_a_prompt_gets_no_answer() {
    let bench = Bench::new();
    let result = bench.run("sleep 2.5; echo done");
    assert_eq!(
        (result.exit_code, result.stdout.as_str()),
        (Some(0), "done\n")
    );
    let result = bench.run("read answer; echo \"got: $answer\"; cat");
    assert_eq!(result.stdout, "got: \n");
    let result = bench.run("echo $GIT_PAGER $PAGER $GIT_TERMINAL_PROMPT $CI $TERM");
    assert_eq!(result.stdout, "cat cat 0 1 dumb\n");
}

#[test]
fn a_long_output_is_kept_whole_and_told_in_short() {
    let bench = Bench::new();
    let result = bench.run("seq 1 300000; echo 'error: in the end' >&2; exit 1");
    assert!(result.stdout.len() < 40 * 1024 && result.stdout.contains("bytes left out"));
    assert!(result.stdout.starts_with("1\n2\n") && result.stdout.ends_with("299999\n300000\n"));
    assert!(result.summary.text.len() < 8 * 1024);
    assert_eq!(result.summary.total_lines, 300_001);
    assert!(
        result
            .summary
            .text
            .contains("read_command_output command_id=")
    );
    assert_eq!(result.dropped_bytes, 0);
    let id = &result.command_id;
    let read = |request: OutputRequest| bench.runner.outputs().read(id, &request).unwrap();
    let middle = read(OutputRequest {
        offset: 150_000,
        limit: Some(2),
        from_start: true,
        filter: None,
    });
    assert_eq!(
        (middle.text.as_str(), middle.lines),
        ("150001\n150002\n", [150_001, 150_002])
    );
    let last = read(OutputRequest {
        limit: Some(1),
        filter: Some("^29999".into()),
        ..Default::default()
    });
    assert_eq!((last.text.as_str(), last.total_lines), ("299999\n", 11));
    let all = read(OutputRequest {
        limit: Some(u64::MAX),
        from_start: true,
        ..Default::default()
    });
    assert!(all.truncated && all.text.len() <= 64 * 1024);
    let bad = OutputRequest {
        filter: Some("(a{1000}){1000}".into()),
        ..Default::default()
    };
    assert!(bench.runner.outputs().read(id, &bad).is_err());
    assert!(
        bench
            .runner
            .outputs()
            .read("../x", &OutputRequest::default())
            .is_err()
    );
}

#[test]
fn what_takes_long_goes_on_as_a_job() {
    let bench = Bench::new();
    let spec = CommandSpec {
        hand_back_after: Duration::from_millis(100),
        ..bench.spec("echo first; while [ ! -e go ]; do sleep 0.05; done; echo second; exit 4")
    };
    let result = bench.runner.run(&spec, &bench.stop).unwrap();
    let id = result.job_id.unwrap();
    assert_eq!((result.exit_code, result.timed_out), (None, false));
    let jobs = bench.runner.list_jobs();
    assert!(
        jobs.len() == 1 && jobs[0].running && jobs[0].processes >= 1,
        "{jobs:?}"
    );
    // The flag of the turn that began it is no longer its own.
    bench.stop.store(true, Ordering::Relaxed);
    fs::write(bench.folder.path().join("w/go"), "").unwrap();
    let result = bench.runner.wait(&id, LONG).unwrap();
    assert_eq!(
        (result.exit_code, result.stopped, result.job_id),
        (Some(4), false, None)
    );
    assert_eq!(result.stdout, "first\nsecond\n");
    assert!(bench.runner.list_jobs().is_empty());
    assert!(bench.runner.kill_job(&id).is_err());
}

#[test]
fn the_end_of_the_shell_is_the_end_even_if_something_holds_its_pipes() {
    let bench = Bench::new();
    let started = Instant::now();
    let result = bench.run("sleep 1000 & echo $! > pid; echo started");
    assert!(started.elapsed() < LONG / 2);
    assert_eq!(
        (result.exit_code, result.stdout.as_str()),
        (Some(0), "started\n")
    );
    let pid = bench.wait_for("pid");
    assert!(lives(&pid));
    let id = result.job_id.unwrap();
    bench.runner.kill_job(&id).unwrap();
    wait_until_gone(&pid);
}

#[test]
fn stopping_ends_everything_that_was_started() {
    let bench = Bench::new();
    // One that won't listen, one in a session of its own, one that has lost its parent and its group.
    let command = "trap '' TERM; \
        (trap '' TERM; echo $BASHPID > deaf; sleep 1000; sleep 1000) & \
        setsid sh -c 'echo $$ > session; exec sleep 1000' & \
        (setsid sh -c 'echo $$ > orphan; exec sleep 1000' &) ; \
        sleep 1000; sleep 1000";
    let stop = Arc::clone(&bench.stop);
    let spec = bench.spec(command);
    let result = std::thread::scope(|scope| {
        let running = scope.spawn(|| bench.runner.run(&spec, &bench.stop).unwrap());
        for name in ["deaf", "session", "orphan"] {
            bench.wait_for(name);
        }
        stop.store(true, Ordering::Relaxed);
        running.join().unwrap()
    });
    assert!(
        result.stopped && result.signal.is_some() && result.job_id.is_none(),
        "{result:?}"
    );
    for name in ["deaf", "session", "orphan"] {
        assert!(!lives(&bench.wait_for(name)), "{name} lives");
    }
}

#[test]
fn a_command_that_cleans_up_has_the_time_to() {
    let bench = Bench::new();
    let spec = CommandSpec {
        time_limit: Some(Duration::from_millis(300)),
        ..bench.spec("trap 'echo cleaned; exit 7' TERM; while true; do sleep 0.05; done")
    };
    let result = bench.runner.run(&spec, &bench.stop).unwrap();
    assert!(result.timed_out && !result.stopped);
    assert_eq!(
        (result.exit_code, result.stdout.as_str()),
        (Some(7), "cleaned\n")
    );
}

#[test]
fn the_end_of_the_program_ends_its_jobs() {
    let bench = Bench::new();
    let spec = CommandSpec {
        hand_back_after: Duration::from_millis(50),
        ..bench.spec("echo $$ > pid; sleep 1000")
    };
    bench.runner.run(&spec, &bench.stop).unwrap();
    let pid = bench.wait_for("pid");
    drop(bench.runner);
    wait_until_gone(&pid);
}

#[test]
fn a_secret_of_the_environment_is_not_passed_on() {
    let bench = Bench::new();
    let names = bench.run("env | cut -d= -f1 | sort").stdout;
    for name in names.lines() {
        let upper = name.to_uppercase();
        assert!(
            !["KEY", "SECRET", "TOKEN", "PASSWORD"]
                .iter()
                .any(|part| upper.contains(part)),
            "{name}"
        );
        assert!(
            !upper.starts_with("CARGO_PKG"),
            "{name} of the test's own environment"
        );
    }
    assert!(names.contains("PATH\n"));
}

#[test]
fn a_shell_that_cannot_start_is_an_error() {
    let bench = Bench::new();
    let spec = CommandSpec::new("ls", "/nowhere/at/all");
    assert!(bench.runner.run(&spec, &bench.stop).is_err());
    let spec = CommandSpec {
        sandbox: Some(commands::SandboxPolicy::read_only()),
        ..bench.spec("ls")
    };
    let error = bench.runner.run(&spec, &bench.stop).unwrap_err();
    assert_eq!(
        error.kind(),
        std::io::ErrorKind::Unsupported,
        "without a helper nothing runs as if there were one"
    );
}

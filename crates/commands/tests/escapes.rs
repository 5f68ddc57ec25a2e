//! Ways out of the sandbox, each tried without it first, so that what is refused is the sandbox's doing. Where the
//! kernel lacks a layer, what rests on it is told and left out.
#![cfg(target_os = "linux")]

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use commands::{CommandResult, CommandSpec, Helper, Layer, Runner, SandboxPolicy};
use tempfile::TempDir;

const LONG: Duration = Duration::from_secs(60);

struct Bench {
    folder: TempDir,
    runner: Runner,
}

fn helper() -> Helper {
    Helper {
        program: env!("CARGO_BIN_EXE_folkmoot-sandbox").into(),
        arguments: Vec::new(),
    }
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "w/.git/hooks",
            "w/sub/.git/hooks",
            "w/tree",
            "store/hooks",
            "out",
            "private",
        ] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let put = |path: &str, text: &str| fs::write(folder.path().join(path), text).unwrap();
        put("w/.git/config", "[core]\n");
        put("w/.env", "TOKEN=1\n");
        put("w/file", "mine\n");
        put("out/file", "theirs\n");
        put("private/key", "secret\n");
        put("w/tree/.git", "gitdir: ../../store\n");
        Self {
            runner: Runner::open(&folder.path().join("outputs"), Some(helper())).unwrap(),
            folder,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn policy(&self) -> SandboxPolicy {
        SandboxPolicy::workspace_write(&self.at("w"))
            .hiding([self.at("w/.env"), self.at("private")])
    }

    fn run(&self, command: &str, sandbox: Option<SandboxPolicy>) -> CommandResult {
        let command = command.replace("OUT", &self.at("out").display().to_string());
        let command = command.replace("BASE", &self.folder.path().display().to_string());
        let spec = CommandSpec {
            sandbox,
            hand_back_after: LONG,
            ..CommandSpec::new(command, self.at("w"))
        };
        self.runner.run(&spec, &Arc::default()).unwrap()
    }

    fn inside(&self, command: &str) -> CommandResult {
        self.run(command, Some(self.policy()))
    }
}

/// Whether a layer is in force; if not, what rests on it is told and left out.
fn rests_on(layer: Layer, result: &CommandResult) -> bool {
    if result.sandbox.has(layer) {
        return true;
    }
    let missing = result
        .sandbox
        .missing
        .iter()
        .find(|missing| missing.layer == layer);
    eprintln!(
        "left out, since {layer:?} is not in force here: {}",
        missing.map_or("no reason told", |missing| &missing.why)
    );
    false
}

/// A command that changes something outside without a sandbox, and nothing with it.
fn changes_nothing(layer: Layer, command: &str, what: &str) {
    let bench = Bench::new();
    let before = tree(&bench.at(what));
    let result = bench.inside(command);
    if rests_on(layer, &result) {
        assert_eq!(
            tree(&bench.at(what)),
            before,
            "{command} got out: {}",
            result.stderr
        );
    }
    let bench = Bench::new();
    bench.run(command, None);
    assert_ne!(
        tree(&bench.at(what)),
        before,
        "{command} does nothing without a sandbox either"
    );
}

fn tree(folder: &Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut todo = vec![folder.to_owned()];
    while let Some(at) = todo.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
            let shown = entry
                .path()
                .strip_prefix(folder)
                .unwrap()
                .display()
                .to_string();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
                all.push((shown, String::new()));
            } else {
                all.push((shown, fs::read_to_string(entry.path()).unwrap_or_default()));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn the_state_is_reported_and_work_goes_on_inside() {
    let bench = Bench::new();
    let result = bench.inside("echo new > made && mkdir -p d/e && mv made d/e && cat d/e/made file && echo t > $TMPDIR/t && cat $TMPDIR/t && ls /usr > /dev/null && echo ok | sed s/ok/fine/");
    assert_eq!(
        (
            result.exit_code,
            result.stdout.as_str(),
            result.stderr.as_str()
        ),
        (Some(0), "new\nmine\nt\nfine\n", "")
    );
    eprintln!(
        "in force: {:?}; missing: {:?}",
        result.sandbox.enforced, result.sandbox.missing
    );
    assert!(result.sandbox.has(Layer::Files) && result.sandbox.has(Layer::SystemCalls));
    let told = result.sandbox.label();
    assert_eq!(told == "sandboxed", result.sandbox.missing.is_empty());
    assert_eq!(bench.inside("exit 5").exit_code, Some(5));
    assert_eq!(bench.inside("kill -TERM $$").signal, Some(15));
}

#[test]
fn a_file_outside_cannot_be_written() {
    changes_nothing(Layer::Files, "echo x > OUT/new", "out");
    changes_nothing(Layer::Files, "echo x >> OUT/file", "out");
    changes_nothing(Layer::Files, "rm OUT/file", "out");
    changes_nothing(Layer::Files, "truncate -s 0 OUT/file", "out");
    changes_nothing(Layer::Files, "mkdir OUT/d", "out");
}

#[test]
fn a_link_leads_nowhere() {
    changes_nothing(Layer::Files, "ln -s OUT l; echo x > l/new", "out");
    changes_nothing(Layer::Files, "ln OUT/file here; echo x >> here", "out");
    changes_nothing(Layer::Files, "echo x > /proc/self/root/OUT/new", "out");
    changes_nothing(Layer::Files, "cd OUT && echo x > /proc/self/cwd/new", "out");
}

#[test]
fn a_link_that_is_swapped_while_it_is_used_leads_nowhere() {
    let bench = Bench::new();
    let result = bench.inside(
        "mkdir real; (for i in $(seq 300); do ln -sfn OUT l; ln -sfn real l; done) & \
         for i in $(seq 300); do echo x > l/new$i; done 2>/dev/null; wait",
    );
    assert!(rests_on(Layer::Files, &result));
    assert_eq!(
        tree(&bench.at("out")),
        [("file".to_owned(), "theirs\n".to_owned())]
    );
}

#[test]
fn nothing_moves_out() {
    changes_nothing(Layer::Files, "mv file OUT/moved", "out");
    changes_nothing(Layer::Files, "mv OUT/file .", "out");
}

#[test]
fn a_read_only_sandbox_changes_nothing_at_all() {
    let bench = Bench::new();
    let before = tree(&bench.at("w"));
    let result = bench.run(
        "echo x > new; rm file; cat OUT/file",
        Some(SandboxPolicy::read_only()),
    );
    assert_eq!(result.stdout, "theirs\n");
    assert_eq!(tree(&bench.at("w")), before);
}

#[test]
fn a_hook_cannot_be_planted() {
    for command in [
        "echo evil > .git/hooks/pre-commit",
        "echo '[core] fsmonitor = ./x' >> .git/config",
        "mv .git aside && mkdir -p .git/hooks && echo evil > .git/hooks/x",
        "rm -rf .git",
    ] {
        changes_nothing(Layer::Shields, command, "w/.git");
    }
    changes_nothing(
        Layer::Shields,
        "echo evil > sub/.git/hooks/pre-commit",
        "w/sub/.git",
    );
    changes_nothing(Layer::Shields, "echo evil > ../store/hooks/x", "store");
    changes_nothing(
        Layer::Shields,
        "echo 'gitdir: /tmp/x' > tree/.git",
        "w/tree",
    );
}

#[test]
fn the_shields_cannot_be_taken_away() {
    let bench = Bench::new();
    let before = tree(&bench.at("w/.git"));
    let result = bench.inside(
        "umount .git; umount -l .git; mount -o remount,rw .git; unshare -Urm sh -c 'umount .git; echo x > .git/x'; \
         nsenter -t 1 -m true; echo evil > .git/x",
    );
    if rests_on(Layer::Shields, &result) {
        assert_eq!(tree(&bench.at("w/.git")), before);
    }
}

#[test]
fn secrets_are_not_there() {
    let bench = Bench::new();
    let read = "cat .env BASE/private/key; ls BASE/private";
    let result = bench.inside(read);
    if rests_on(Layer::Shields, &result) {
        assert_eq!(result.stdout, "", "{}", result.stderr);
    }
    assert_eq!(bench.run(read, None).stdout, "TOKEN=1\nsecret\nkey\n");
}

/// A script of Perl, which has sockets and bare system calls at hand; none where there is no Perl.
fn perl(script: &str) -> Option<String> {
    let there = Command::new("perl")
        .arg("-v")
        .stdout(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        eprintln!("left out, since there is no perl");
        return None;
    }
    Some(format!("perl -e '{script}'"))
}

/// Prints `reached` without a sandbox, and doesn't with it.
fn reaches_nothing(layer: Layer, script: &str) {
    let Some(command) = perl(script) else {
        return;
    };
    let bench = Bench::new();
    let without = bench.run(&command, None);
    assert!(
        without.stdout.contains("reached"),
        "{script} reaches nothing without a sandbox either: {}",
        without.stderr
    );
    let within = bench.inside(&command);
    if rests_on(layer, &within) {
        assert!(!within.stdout.contains("reached"), "{script} got out");
    }
}

#[test]
fn no_network_is_reached() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect = "use Socket; socket(S, PF_INET, SOCK_STREAM, 0) and connect(S, sockaddr_in(PORT, inet_aton(\"127.0.0.1\"))) and print \"reached\"";
    reaches_nothing(
        Layer::SystemCalls,
        &connect.replace("PORT", &port.to_string()),
    );
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = udp.local_addr().unwrap().port();
    let send = "use Socket; socket(S, PF_INET, SOCK_DGRAM, 0) and send(S, \"x\", 0, sockaddr_in(PORT, inet_aton(\"127.0.0.1\"))) and print \"reached\"";
    reaches_nothing(Layer::SystemCalls, &send.replace("PORT", &port.to_string()));
}

#[test]
fn the_network_is_there_if_it_is_allowed() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect = "use Socket; socket(S, PF_INET, SOCK_STREAM, 0) and connect(S, sockaddr_in(PORT, inet_aton(\"127.0.0.1\"))) and print \"reached\"";
    let Some(command) = perl(&connect.replace("PORT", &port.to_string())) else {
        return;
    };
    let bench = Bench::new();
    let policy = SandboxPolicy {
        network: true,
        ..bench.policy()
    };
    let result = bench.run(&command, Some(policy));
    assert_eq!(result.stdout, "reached", "{}", result.stderr);
    assert!(!result.sandbox.has(Layer::Network));
}

#[test]
fn no_socket_of_another_program_is_reached() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docker.sock");
    let _named = UnixListener::bind(&path).unwrap();
    let connect = "use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) and connect(S, sockaddr_un(\"PATH\")) and print \"reached\"";
    reaches_nothing(
        Layer::SystemCalls,
        &connect.replace("PATH", &path.display().to_string()),
    );
    let name = format!("folkmoot-{}", std::process::id());
    let _abstract =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    reaches_nothing(
        Layer::SystemCalls,
        &connect.replace("PATH", &format!("\\0{name}")),
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn calls_that_lead_out_are_refused() {
    // io_uring_setup, and the same for x32; unshare(CLONE_NEWUSER); clone(CLONE_NEWUSER|SIGCHLD); ptrace(TRACEME);
    // keyctl; userfaultfd; bpf; process_vm_readv. What matters is the error: EPERM is 1, ENOSYS is 38.
    let script = "my @calls = ([425, 8, 0], [425 + 0x40000000, 8, 0], [272, 0x10000000], [56, 0x10000011, 0, 0, 0, 0], \
        [101, 0, 0, 0, 0], [101 + 0x40000000, 0, 0, 0, 0], [250, 0, 0, 0], [323, 1], [321, 0, 0, 0], [310, 1, 0, 0, 0, 0], [435, 0, 0]); \
        for my $call (@calls) { my $got = syscall($call->[0], @$call[1..$#$call]); exit 0 if $call->[0] == 56 && $got == 0; print \"$call->[0] $got \", $! + 0, \"\\n\" }";
    let Some(command) = perl(script) else {
        return;
    };
    let bench = Bench::new();
    let result = bench.inside(&command);
    let lines: Vec<&str> = result.stdout.lines().collect();
    assert_eq!(lines.len(), 11, "{} {}", result.stdout, result.stderr);
    for line in lines {
        assert!(
            line.ends_with(" -1 1") || line.ends_with(" -1 38"),
            "{line} was let through"
        );
    }
    let without = bench.run(&command, None).stdout;
    assert!(
        without.contains("\n101 0 "),
        "without a sandbox nothing is refused: {without}"
    );
}

#[test]
fn other_processes_are_not_there_and_get_no_signals() {
    let bench = Bench::new();
    let mut other = Command::new("sleep").arg("1000").spawn().unwrap();
    let result = bench.inside(&format!(
        "kill -KILL {0}; ls -d /proc/{0}; cat /proc/{0}/environ; kill -KILL -1; true",
        other.id()
    ));
    let lived = other.try_wait().unwrap().is_none();
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(lived, "a process outside was killed");
    if rests_on(Layer::Processes, &result) {
        assert_eq!(result.stdout, "");
    }
}

#[test]
fn there_are_no_rights_and_no_way_to_more() {
    let bench = Bench::new();
    let result = bench
        .inside("grep -E '^(CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status");
    for line in [
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "CapAmb:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
    ] {
        assert!(
            result.stdout.contains(line),
            "{line} is not in {}",
            result.stdout
        );
    }
}

#[test]
fn no_open_file_of_ours_is_passed_on() {
    let bench = Bench::new();
    let secret = fs::File::open(bench.at("private/key")).unwrap();
    // Without the flag that closes it when a program is run.
    let leaked = rustix::io::dup(&secret).unwrap();
    let result =
        bench.inside("for fd in /proc/self/fd/*; do readlink $fd; done; ls -l /proc/self/fd/");
    drop(leaked);
    assert!(!result.stdout.contains("private"), "{}", result.stdout);
    assert!(
        result.stdout.contains("/dev/null"),
        "{} {}",
        result.stdout,
        result.stderr
    );
}

#[test]
fn temporary_files_are_its_own() {
    let bench = Bench::new();
    let name = format!("folkmoot-probe-{}", std::process::id());
    let elsewhere = std::env::temp_dir().join(&name);
    bench.inside(&format!(
        "echo x > {}; echo x > /var/tmp/{name}; echo x > /dev/shm/{name}",
        elsewhere.display()
    ));
    for folder in [std::env::temp_dir(), "/var/tmp".into(), "/dev/shm".into()] {
        assert!(!folder.join(&name).exists(), "{}", folder.display());
    }
}

#[test]
fn nothing_outlives_the_command() {
    let bench = Bench::new();
    let result = bench.inside("setsid sh -c 'sleep 1000' & (setsid sleep 1000 &) ; echo started");
    assert_eq!(result.stdout, "started\n");
    if rests_on(Layer::Processes, &result) {
        assert_eq!(result.job_id, None, "something lives on");
    }
}

#[test]
fn stopping_reaches_inside() {
    let bench = Bench::new();
    let spec = CommandSpec {
        sandbox: Some(bench.policy()),
        hand_back_after: LONG,
        time_limit: Some(Duration::from_millis(500)),
        ..CommandSpec::new(
            "trap 'echo cleaned; exit 7' TERM; while true; do sleep 0.05; done",
            bench.at("w"),
        )
    };
    let result = bench.runner.run(&spec, &Arc::default()).unwrap();
    assert!(result.timed_out);
    assert_eq!(
        (result.exit_code, result.stdout.as_str()),
        (Some(7), "cleaned\n")
    );
    let deaf = CommandSpec {
        command: "trap '' TERM; while true; do sleep 1; done".into(),
        ..spec
    };
    let result = bench.runner.run(&deaf, &Arc::default()).unwrap();
    assert!(result.timed_out && result.job_id.is_none());
}

/// Not a test of its own: the program that is killed.
#[test]
fn the_program_that_is_killed() {
    let Ok(folder) = std::env::var("KILLED_IN") else {
        return;
    };
    let folder = PathBuf::from(folder);
    let runner = Runner::open(&folder.join("outputs"), Some(helper())).unwrap();
    let spec = CommandSpec {
        sandbox: Some(SandboxPolicy::workspace_write(&folder)),
        hand_back_after: LONG * 10,
        ..CommandSpec::new(
            "echo ready > ready; setsid sleep 4321 & sleep 4321",
            &folder,
        )
    };
    runner.run(&spec, &Arc::default()).unwrap();
}

#[test]
fn when_the_program_is_killed_its_commands_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_program_that_is_killed"])
        .env("KILLED_IN", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !folder.path().join("ready").exists() {
        assert!(
            started.elapsed() < LONG && program.try_wait().unwrap().is_none(),
            "it never began"
        );
        std::thread::yield_now();
    }
    let below = folder.path().display().to_string();
    let living = || {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        entries
            .filter(|entry| {
                fs::read_link(entry.path().join("cwd"))
                    .is_ok_and(|at| at.display().to_string() == below)
            })
            .count()
    };
    // It says that it is ready before its own programs have begun.
    while living() < 2 {
        assert!(started.elapsed() < LONG, "{} processes", living());
        std::thread::yield_now();
    }
    program.kill().unwrap();
    program.wait().unwrap();
    while living() > 0 {
        assert!(started.elapsed() < LONG, "{} processes live on", living());
        std::thread::yield_now();
    }
}

#[test]
fn a_link_for_a_repository_protects_what_it_leads_to() {
    let bench = Bench::new();
    fs::remove_dir_all(bench.at("w/.git")).unwrap();
    fs::create_dir_all(bench.at("w/real/hooks")).unwrap();
    symlink("real", bench.at("w/.git")).unwrap();
    let result = bench.inside("echo evil > .git/hooks/x; echo evil > real/hooks/y");
    if rests_on(Layer::Shields, &result) {
        assert!(tree(&bench.at("w/real/hooks")).is_empty());
    }
}

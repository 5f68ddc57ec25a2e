//! Running commands: each in a group of processes of its own, its output kept, handed back as a job if it takes long,
//! and stopped with everything it started.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde::Serialize;

use crate::distil::{Distilled, distil};
use crate::environment::EnvironmentPolicy;
use crate::output_store::{OutputLog, OutputStore, Stream};
use crate::process_tree::{MARK, ProcessTree};
use crate::sandbox::{Enforcement, Helper, SandboxPolicy, Tether, launch};

/// Between asking a process to end and ending it.
const GRACE: Duration = Duration::from_secs(3);
/// How long output is waited for after the shell has ended: others may hold its pipes.
const DRAIN: Duration = Duration::from_secs(2);
/// Between two looks at the flag that stops.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Bytes of either end of a stream that a result carries.
const SHOWN: u64 = 16 * 1024;

/// A command to run.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// For the shell.
    pub command: String,
    /// Where.
    pub folder: PathBuf,
    /// What it sees of the environment.
    pub environment: EnvironmentPolicy,
    /// Within which bounds; none for none at all.
    pub sandbox: Option<SandboxPolicy>,
    /// After this long it is handed back as a job.
    pub hand_back_after: Duration,
    /// After this long it is stopped.
    pub time_limit: Option<Duration>,
}

impl CommandSpec {
    /// A command in a folder, without a sandbox, handed back after 10 s, without a limit of time.
    pub fn new(command: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        Self {
            command: command.into(),
            folder: folder.into(),
            environment: EnvironmentPolicy::default(),
            sandbox: None,
            hand_back_after: Duration::from_secs(10),
            time_limit: None,
        }
    }
}

/// Why a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself.
    Itself,
    /// Its time was over.
    TimeLimit,
    /// It was stopped.
    Stopped,
}

/// What came of a command, so far if it goes on as a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandResult {
    /// The name under which its output is kept.
    pub command_id: String,
    /// Its exit code; none while it runs, or if a signal ended it.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether its time was over.
    pub timed_out: bool,
    /// Whether it was stopped.
    pub stopped: bool,
    /// The job it goes on as: it still runs, or something it started does.
    pub job_id: Option<String>,
    /// What it said; the middle is left out, with a mark, where it is long.
    pub stdout: String,
    /// What it complained about, in the same way.
    pub stderr: String,
    /// Both, distilled.
    pub summary: Distilled,
    /// Bytes of output that could not be kept.
    pub dropped_bytes: u64,
    /// What bounds are really enforced.
    pub sandbox: Enforcement,
    /// How long it ran.
    pub elapsed_ms: u64,
}

/// A job, as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobSummary {
    /// Its name.
    pub job_id: String,
    /// Its command.
    pub command: String,
    /// Whether the shell still runs.
    pub running: bool,
    /// How many of its processes live.
    pub processes: usize,
    /// Since when.
    pub elapsed_ms: u64,
}

/// Runs commands, and knows those that go on. Everything that runs is stopped when this is dropped.
#[derive(Debug)]
pub struct Runner {
    store: OutputStore,
    helper: Option<Helper>,
    jobs: Mutex<BTreeMap<String, Arc<Running>>>,
    count: AtomicU64,
    /// Tells this process's commands from those of another that shares the store.
    session: String,
    /// Where commands in a sandbox may put what is temporary.
    temp: PathBuf,
}

/// A command that runs, or ran.
#[derive(Debug)]
struct Running {
    id: String,
    command: String,
    started: Instant,
    tree: ProcessTree,
    output: OutputLog,
    enforcement: Enforcement,
    state: Mutex<State>,
    changed: Condvar,
    /// Once it is handed back, the flag of the turn that began it stops it no more.
    handed_back: AtomicBool,
    stop: AtomicBool,
    /// While it is held a sandbox lives.
    _tether: Option<Tether>,
}

#[derive(Debug, Default)]
struct State {
    status: Option<ExitStatus>,
    ended: Option<Ended>,
    /// How many streams are still open.
    open: u8,
    /// When everything was over.
    elapsed: Option<Duration>,
}

impl Runner {
    /// A runner that keeps output in a folder. Without a helper it runs nothing in a sandbox.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn open(folder: &Path, helper: Option<Helper>) -> io::Result<Self> {
        let name = uuid::Uuid::new_v4().simple().to_string();
        let temp = std::env::temp_dir().join(format!("folkmoot-{name}"));
        fs::DirBuilder::new().mode(0o700).create(&temp)?;
        Ok(Self {
            store: OutputStore::open(folder)?,
            helper,
            jobs: Mutex::default(),
            count: AtomicU64::new(0),
            session: name[..8].to_owned(),
            temp,
        })
    }

    /// Where output is kept.
    pub fn outputs(&self) -> &OutputStore {
        &self.store
    }

    /// Runs a command until it ends, is handed back, or the flag is set.
    ///
    /// # Errors
    /// The shell can't be started, or the sandbox that was asked for can't be made.
    pub fn run(&self, spec: &CommandSpec, stop: &Arc<AtomicBool>) -> io::Result<CommandResult> {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("{}-{number}", self.session);
        let running = self.start(spec, id.clone(), stop)?;
        self.jobs().insert(id, Arc::clone(&running));
        let deadline = running.started + spec.hand_back_after;
        let mut state = running.lock();
        while state.elapsed.is_none() && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = running.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(state);
        running.handed_back.store(true, Ordering::Relaxed);
        let result = running.result()?;
        if result.job_id.is_none() {
            self.jobs().remove(&running.id);
        }
        Ok(result)
    }

    /// The commands that go on.
    pub fn list_jobs(&self) -> Vec<JobSummary> {
        let jobs: Vec<Arc<Running>> = self.jobs().values().cloned().collect();
        let summary = |job: Arc<Running>| {
            let running = job.lock().status.is_none();
            JobSummary {
                job_id: job.id.clone(),
                command: job.command.clone(),
                running,
                processes: job.tree.members().len(),
                elapsed_ms: job.elapsed_ms(),
            }
        };
        jobs.into_iter().map(summary).collect()
    }

    /// What has come of a job so far. One that is over is forgotten after that, its output isn't.
    ///
    /// # Errors
    /// There is no such job, or its output can't be read.
    pub fn job(&self, id: &str) -> io::Result<CommandResult> {
        let job = self.find(id)?;
        let result = job.result()?;
        if result.job_id.is_none() {
            self.jobs().remove(id);
        }
        Ok(result)
    }

    /// Waits until a job is over, or for as long as given; what has come of it by then.
    ///
    /// # Errors
    /// There is no such job, or its output can't be read.
    pub fn wait(&self, id: &str, most: Duration) -> io::Result<CommandResult> {
        let job = self.find(id)?;
        let deadline = Instant::now() + most;
        let mut state = job.lock();
        while state.elapsed.is_none() && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            state = job
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        drop(state);
        self.job(id)
    }

    /// Stops a job with everything it started; returns when all of it is gone.
    ///
    /// # Errors
    /// There is no such job, or its output can't be read.
    pub fn kill_job(&self, id: &str) -> io::Result<CommandResult> {
        let job = self.find(id)?;
        job.stop.store(true, Ordering::Relaxed);
        let mut state = job.lock();
        while state.elapsed.is_none() {
            state = job
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        // What outlived the shell.
        job.tree.stop(GRACE);
        self.job(id)
    }

    fn find(&self, id: &str) -> io::Result<Arc<Running>> {
        let unknown = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("no job has this name: {id}"),
            )
        };
        self.jobs().get(id).cloned().ok_or_else(unknown)
    }

    fn jobs(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Running>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(
        &self,
        spec: &CommandSpec,
        id: String,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Arc<Running>> {
        let output = self.store.create(&id)?;
        let mark = uuid::Uuid::new_v4().to_string();
        let mut environment = spec.environment.build(std::env::vars_os());
        environment.insert(MARK.into(), mark.clone().into());
        let started = Instant::now();
        let (mut child, enforcement, tether) = match (&spec.sandbox, &self.helper) {
            (Some(policy), Some(helper)) => {
                let mut policy = policy.clone();
                if !policy.writable.is_empty() {
                    environment.insert("TMPDIR".into(), self.temp.clone().into());
                    policy.writable.push(self.temp.clone());
                }
                let (child, enforcement, tether) =
                    launch(helper, &policy, &spec.command, &spec.folder, environment)?;
                (child, enforcement, Some(tether))
            }
            (Some(_), None) => {
                let why = "there is no helper to make a sandbox with";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            (None, _) => {
                let mut command = Command::new(shell());
                command
                    .arg("-c")
                    .arg(&spec.command)
                    .current_dir(&spec.folder);
                command
                    .env_clear()
                    .envs(environment)
                    .process_group(0)
                    .stdin(Stdio::null());
                let child = command
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped())
                    .spawn()?;
                (child, Enforcement::none(), None)
            }
        };
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let leader = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
        let running = Arc::new(Running {
            id,
            command: spec.command.clone(),
            started,
            tree: ProcessTree {
                leader,
                mark,
                in_sandbox: spec.sandbox.is_some(),
            },
            output,
            enforcement,
            state: Mutex::new(State {
                open: 2,
                ..State::default()
            }),
            changed: Condvar::new(),
            handed_back: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            _tether: tether,
        });
        if let Some(out) = child.stdout.take() {
            running.read(Stream::Out, out);
        }
        if let Some(err) = child.stderr.take() {
            running.read(Stream::Err, err);
        }
        running.watch(child, Arc::clone(stop), spec.time_limit);
        Ok(running)
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        for job in self.jobs().values() {
            job.tree.kill();
        }
        if let Err(error) = fs::remove_dir_all(&self.temp) {
            log::warn!("cannot remove: {error}: {}", self.temp.display());
        }
    }
}

/// The shell that commands are written for.
pub(crate) fn shell() -> &'static str {
    if Path::new("/bin/bash").exists() {
        "/bin/bash"
    } else {
        "/bin/sh"
    }
}

impl Running {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn elapsed_ms(&self) -> u64 {
        let elapsed = self
            .lock()
            .elapsed
            .unwrap_or_else(|| self.started.elapsed());
        u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
    }

    /// Reads a stream to its end on a thread of its own.
    fn read(self: &Arc<Self>, stream: Stream, mut from: impl Read + Send + 'static) {
        let running = Arc::clone(self);
        std::thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            while let Ok(length) = from.read(&mut piece) {
                if length == 0 {
                    break;
                }
                running.output.append(stream, &piece[..length]);
            }
            running.lock().open -= 1;
            running.changed.notify_all();
        });
    }

    /// Waits for the end of the shell on one thread, and watches over it on another.
    fn watch(self: &Arc<Self>, mut child: Child, stop: Arc<AtomicBool>, limit: Option<Duration>) {
        let running = Arc::clone(self);
        std::thread::spawn(move || {
            let status = child.wait().ok();
            running.lock().status = status;
            running.changed.notify_all();
        });
        let running = Arc::clone(self);
        std::thread::spawn(move || running.guard(&stop, limit));
    }

    fn guard(&self, stop: &AtomicBool, limit: Option<Duration>) {
        let mut state = self.lock();
        while state.status.is_none() {
            let stopped = self.stop.load(Ordering::Relaxed)
                || (stop.load(Ordering::Relaxed) && !self.handed_back.load(Ordering::Relaxed));
            let late = limit.is_some_and(|limit| self.started.elapsed() >= limit);
            if (stopped || late) && state.ended.is_none() {
                state.ended = Some(if stopped {
                    Ended::Stopped
                } else {
                    Ended::TimeLimit
                });
                drop(state);
                self.tree.stop(GRACE);
                state = self.lock();
                continue;
            }
            let waited = self.changed.wait_timeout(state, LOOK_EVERY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let deadline = Instant::now() + DRAIN;
        while state.open > 0 && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        state.elapsed = Some(self.started.elapsed());
        drop(state);
        self.changed.notify_all();
    }

    fn result(&self) -> io::Result<CommandResult> {
        let (status, ended, over) = {
            let state = self.lock();
            (state.status, state.ended, state.elapsed.is_some())
        };
        let goes_on = !over || !self.tree.members().is_empty();
        // A sandbox's helper tells a signal as shells do.
        let code = status.and_then(|status| status.code());
        let by_helper = code
            .filter(|code| self.tree.in_sandbox && *code > 128)
            .map(|code| code - 128);
        let signal = status.and_then(|status| status.signal()).or(by_helper);
        Ok(CommandResult {
            command_id: self.id.clone(),
            exit_code: code.filter(|_| signal.is_none()),
            signal,
            timed_out: ended == Some(Ended::TimeLimit),
            stopped: ended == Some(Ended::Stopped),
            job_id: goes_on.then(|| self.id.clone()),
            stdout: self.shown(Stream::Out)?,
            stderr: self.shown(Stream::Err)?,
            summary: distil(self.output.path(), &self.id)?,
            dropped_bytes: self.output.lost().0,
            sandbox: self.enforcement.clone(),
            elapsed_ms: self.elapsed_ms(),
        })
    }

    fn shown(&self, stream: Stream) -> io::Result<String> {
        let (head, tail, total) = self.output.ends(stream, SHOWN)?;
        let mut text = String::from_utf8_lossy(&head).into_owned();
        let left_out = total - (head.len() + tail.len()) as u64;
        if left_out > 0 {
            text.push_str(&format!(
                "\n[{left_out} bytes left out; read_command_output command_id={}]\n",
                self.id
            ));
        }
        text.push_str(&String::from_utf8_lossy(&tail));
        Ok(text)
    }
}

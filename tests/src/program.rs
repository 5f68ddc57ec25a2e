//! A program under test as a child process: its arguments, its lines as they come, signals, its end.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{DataFolder, Outcome, PATIENCE, folkmoot_path, rehearse_path};

/// A program to be started, in an environment without anything of the person who runs the tests.
#[derive(Debug)]
pub struct Program {
    command: Command,
    input: Vec<u8>,
}

/// `folkmoot` on a data folder.
pub fn folkmoot(home: &DataFolder) -> Program {
    Program::new(folkmoot_path())
        .env("FOLKMOOT_HOME", home.path())
        .env("HOME", home.path())
}

/// `rehearse`.
pub fn rehearse() -> Program {
    Program::new(rehearse_path())
}

impl Program {
    fn new(path: &Path) -> Self {
        let mut command = Command::new(path);
        command.env_clear();
        // Without the session's bus there is no keyring, and keys go to the file of the data folder.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self {
            command,
            input: Vec::new(),
        }
    }

    /// Sends standard output to a file instead of a pipe.
    pub fn output_to(mut self, path: &Path) -> Self {
        let file = std::fs::File::options().write(true).open(path);
        self.command.stdout(file.expect("the file opens"));
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable of the environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// What it reads from standard input; without this there is nothing to read.
    #[must_use]
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Outcome {
        self.start().finish()
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let mut child = self.command.spawn().expect("the program starts");
        let (sender, pieces) = channel();
        let mut stdin = child.stdin.take().expect("standard input is a pipe");
        let input = self.input;
        std::thread::spawn(move || {
            // A program that doesn't read its input closes the pipe.
            let _closed = stdin.write_all(&input);
        });
        if let Some(stdout) = child.stdout.take() {
            read_lines(stdout, Piece::Out, &sender);
        }
        read_lines(
            child.stderr.take().expect("standard error is a pipe"),
            Piece::Err,
            &sender,
        );
        Running {
            child,
            pieces,
            stdout: String::new(),
            stderr: String::new(),
        }
    }
}

#[derive(Debug)]
enum Piece {
    Out(String),
    Err(String),
}

/// Sends each line with its end, until the pipe is closed; the channel closes with both pipes.
fn read_lines(
    pipe: impl Read + Send + 'static,
    piece: fn(String) -> Piece,
    sender: &Sender<Piece>,
) {
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|len| len > 0) {
            let text = String::from_utf8(std::mem::take(&mut line)).expect("programs print UTF-8");
            if sender.send(piece(text)).is_err() {
                return;
            }
        }
    });
}

/// A program that runs. It is killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    pieces: Receiver<Piece>,
    stdout: String,
    stderr: String,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line of standard output that `fits`, without its end.
    pub fn wait_for_line(&mut self, what: &str, mut fits: impl FnMut(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(Piece::Out(line)) => {
                    self.stdout.push_str(&line);
                    let line = line.trim_end_matches(['\r', '\n']);
                    if fits(line) {
                        return line.to_owned();
                    }
                }
                Ok(Piece::Err(line)) => self.stderr.push_str(&line),
                Err(_) => panic!("{what} was not printed\n{}\n{}", self.stdout, self.stderr),
            }
        }
    }

    /// The next JSON line of a type.
    pub fn wait_for_event(&mut self, kind: &str) -> Value {
        let parse = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        parse(&self.wait_for_line(kind, |line| parse(line)["type"] == kind))
    }

    /// What a person's Ctrl+C does.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// `kill -9`.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("the program is there to be signalled");
    }

    /// Whether it has not ended yet.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_none())
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(Piece::Out(line)) => self.stdout.push_str(&line),
                Ok(Piece::Err(line)) => self.stderr.push_str(&line),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    panic!("the program does not end\n{}\n{}", self.stdout, self.stderr);
                }
            }
        }
        let code = self
            .child
            .wait()
            .expect("the program ends once its output is closed")
            .code();
        Outcome {
            code,
            stdout: std::mem::take(&mut self.stdout),
            stderr: std::mem::take(&mut self.stderr),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

//! The server as a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// Ends the process with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn rehearse(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn a_child_says_where_it_listens_and_serves_the_demo() {
    let child = rehearse(&["--demo"]).stdout(Stdio::piped()).spawn();
    let mut running = Running(child.expect("it starts"));
    let stdout = running.0.stdout.take().expect("its output is piped");
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .expect("it says a line");
    let address = line
        .strip_prefix("rehearsal listening on http://")
        .and_then(|rest| rest.trim_end().strip_suffix("/v1"))
        .expect("the line names an address");
    let mut socket = TcpStream::connect(address).expect("it listens");
    socket
        .write_all(b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("it answers");
    assert!(
        answer.contains("demo-scout") && answer.contains("demo-critic"),
        "{answer}"
    );
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let script = std::env::temp_dir().join(format!("rehearse-{}.toml", std::process::id()));
    std::fs::write(&script, "[[step]]\nrepyl = 1\n").expect("it can be written");
    let path = script.to_str().expect("the path is a text");
    let cases: [(&[&str], &str); 5] = [
        (&[path], "rehearse: line 2, column 1: unknown field `repyl`"),
        (&["/nonexistent/script.toml"], "can't read the script"),
        (&["--port", "x"], "--port needs a number"),
        (&["--loud"], "unknown option --loud"),
        (&["--demo", "script.toml"], "--demo is a script of its own"),
    ];
    for (arguments, expected) in cases {
        let output = rehearse(arguments).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
    std::fs::remove_file(&script).expect("it can be removed");
}

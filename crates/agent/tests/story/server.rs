//! A scripted model server in a child process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rehearsal::{Options, Script, serve_until};
use serde_json::Value;

/// A server that ends with this.
pub(crate) struct Server {
    child: Child,
    pub(crate) base_url: String,
}

impl Server {
    /// Starts this test program again as a server of the script.
    pub(crate) fn start(script: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "server::the_child_that_serves", "--nocapture"])
            .env("FOLKMOOT_STORY_SCRIPT", script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mark = "rehearsal listening on ";
        let base_url = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.split_once(mark)?.1.to_owned()))
            .expect("the server says where it is");
        Self { child, base_url }
    }

    /// The bodies of the chat requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let recorded = self.get("/_rehearsal/requests");
        let recorded = recorded.as_array().unwrap().iter();
        let chats = recorded.filter(|request| !request["chat"].is_null());
        chats.map(|request| request["body"].clone()).collect()
    }

    /// Requests for which the script had no answer.
    pub(crate) fn mismatches(&self) -> Value {
        self.get("/_rehearsal/mismatches")
    }

    fn get(&self, path: &str) -> Value {
        let host = self
            .base_url
            .trim_start_matches("http://")
            .trim_end_matches("/v1");
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves until its parent closes its input; without a script it is a test of nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_child_that_serves() {
    let Ok(script) = std::env::var("FOLKMOOT_STORY_SCRIPT") else {
        return;
    };
    let script = Script::parse(&script).unwrap();
    let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let options = Options {
        strict: true,
        ..Options::default()
    };
    serve_until(script, options, closed, &mut std::io::stdout())
        .await
        .unwrap();
}

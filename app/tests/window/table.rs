//! What lies behind the window in these tests: a data folder, and a scripted model server that two seats speak to.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use rehearsal::{Options, Recorded, Rehearsal, Script};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Far longer than anything here takes; reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

/// Both seats answer at once, in a word.
pub(crate) const SHORT_ANSWERS: &str = r#"
[[step]]
model = "model-a"
reply = "Ann's answer."
[[step]]
model = "model-b"
reply = "Bob's answer."
"#;

/// A data folder whose seats `ann` and `bob` are played by a script.
pub(crate) struct Table {
    pub(crate) server: Rehearsal,
    pub(crate) home: TempDir,
    runtime: Runtime,
}

impl Table {
    /// A table over the steps of a script.
    pub(crate) fn set(script: &str) -> Self {
        Self::set_with(script, seats)
    }

    /// As [`Self::set`], with settings of one's own; they are given the server's address.
    pub(crate) fn set_with(script: &str, settings: impl FnOnce(&str) -> String) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let script = Script::parse(script).unwrap();
        let server = runtime
            .block_on(Rehearsal::start(script, Options::default()))
            .unwrap();
        let home = tempfile::tempdir().unwrap();
        let text = settings(&server.base_url());
        std::fs::write(home.path().join("settings.toml"), text).unwrap();
        Self {
            server,
            home,
            runtime,
        }
    }

    /// The data folder.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The settings file as it is now.
    pub(crate) fn settings(&self) -> String {
        std::fs::read_to_string(self.home().join("settings.toml")).unwrap()
    }

    /// Waits until a reply has come to the gate of this name.
    pub(crate) fn at_gate(&self, name: &str) {
        self.patiently(name, self.server.wait_at_gate(name));
    }

    /// The nth chat request, from 1.
    pub(crate) fn request(&self, nth: usize) -> Recorded {
        self.patiently("a request", self.server.wait_for_request(nth))
    }

    /// The last text of the nth chat request.
    pub(crate) fn last_words(&self, nth: usize) -> String {
        let recorded = self.request(nth);
        let messages = recorded.body["messages"].as_array().unwrap();
        messages.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Waits until the client of the nth chat request has hung up.
    pub(crate) fn hung_up(&self, nth: usize) {
        self.patiently("a hang-up", self.server.wait_for_disconnect(nth));
    }

    /// How many chat requests came.
    pub(crate) fn requests(&self) -> usize {
        let requests = self.server.requests();
        requests.iter().filter(|r| r.chat.is_some()).count()
    }

    fn patiently<T>(&self, what: &str, wait: impl Future<Output = T>) -> T {
        self.runtime
            .block_on(async { tokio::time::timeout(PATIENCE, wait).await })
            .unwrap_or_else(|_| panic!("{what} did not come; {:?}", self.server.mismatches()))
    }
}

/// Two seats on the scripted server; the proxy is where nobody listens.
pub(crate) fn seats(url: &str) -> String {
    format!(
        "[sidecar]\nexternal_url = \"http://127.0.0.1:9\"\n\
         [[endpoints]]\nid = \"script\"\nurl = \"{url}\"\n\
         [[participants]]\nid = \"ann\"\ndisplay_name = \"Ann\"\nendpoint = \"script\"\nmodel = \"model-a\"\n\
         [[participants]]\nid = \"bob\"\ndisplay_name = \"Bob\"\nendpoint = \"script\"\nmodel = \"model-b\"\n"
    )
}

//! Nobody is contacted but the hosts that the settings name.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use folkmoot_tests::{DataFolder, ModelServer, folkmoot};

/// A port of this machine that takes note of who calls and hangs up.
struct Doorbell {
    url: String,
    rings: Arc<AtomicUsize>,
}

impl Doorbell {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let rings = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&rings);
        std::thread::spawn(move || {
            for caller in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                drop(caller);
            }
        });
        Self { url, rings }
    }

    fn rings(&self) -> usize {
        self.rings.load(Ordering::SeqCst)
    }
}

#[test]
fn an_ask_contacts_the_configured_hosts_and_no_proxy_or_other_host() {
    let server = ModelServer::play("[[step]]\nreply = \"hi\"");
    let (elsewhere, proxy) = (Doorbell::new(), Doorbell::new());
    let home = DataFolder::for_server(&server);
    let outcome = folkmoot(&home)
        .args([
            "ask",
            "--json",
            "--to",
            "ann",
            "see http://127.0.0.1/ and @bob",
        ])
        .env("OPENAI_BASE_URL", &elsewhere.url)
        .env("OPENAI_API_KEY", "sk-of-another-program")
        .env("HTTP_PROXY", &proxy.url)
        .env("http_proxy", &proxy.url)
        .env("ALL_PROXY", &proxy.url)
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert_eq!(
        (elsewhere.rings(), proxy.rings()),
        (0, 0),
        "servers on this machine are reached directly"
    );
    let paths: Vec<String> = server
        .requests()
        .into_iter()
        .map(|r| format!("{} {}", r.method, r.path))
        .collect();
    assert!(
        paths
            .iter()
            .filter(|path| *path == "POST /v1/chat/completions")
            .count()
            == 1,
        "{paths:?}"
    );
    assert!(
        paths
            .iter()
            .all(|p| p == "GET /v1/models" || p == "POST /v1/chat/completions"),
        "{paths:?}"
    );
    for request in server.requests() {
        assert_eq!(request.header("authorization"), None, "{request:?}");
        assert!(
            request
                .header("user-agent")
                .is_some_and(|agent| agent.starts_with("folkmoot/")),
            "{request:?}"
        );
    }
}

#[test]
fn the_subscription_proxy_is_asked_how_it_is_and_gets_no_message_of_another_seat() {
    let server = ModelServer::play("[[step]]\nreply = \"hi\"");
    let sidecar =
        ModelServer::play("[[models]]\nid = \"claude-opus-4-8\"\nowned_by = \"anthropic\"");
    let home = DataFolder::for_server(&server);
    let text = std::fs::read_to_string(home.settings_path()).expect("settings");
    let text = text.replace("http://127.0.0.1:9", &sidecar.base_url().replace("/v1", ""));
    std::fs::write(home.settings_path(), text).expect("settings");
    let outcome = folkmoot(&home)
        .args(["ask", "--json", "--to", "all", "hello"])
        .run();
    assert_eq!(outcome.code, Some(0), "{outcome}");
    assert!(sidecar.chats().is_empty());
    for request in sidecar.requests() {
        assert_eq!(
            (request.method.as_str(), request.raw.len()),
            ("GET", 0),
            "{request:?}"
        );
        assert_eq!(request.header("authorization"), None);
    }
}

#[test]
fn commands_that_need_no_model_contact_nobody() {
    let bell = Doorbell::new();
    let home = DataFolder::new();
    std::fs::write(
        home.settings_path(),
        format!("[sidecar]\nexternal_url = \"{}\"\n", bell.url),
    )
    .expect("settings");
    let commands: [&[&str]; 7] = [
        &["--version"],
        &["--help"],
        &["man"],
        &["completions", "bash"],
        &["thread", "list"],
        &["key", "list"],
        &["ask", " "],
    ];
    for args in commands {
        folkmoot(&home).args(args).run();
    }
    assert_eq!(bell.rings(), 0);
}

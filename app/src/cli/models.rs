//! `folkmoot models`: endpoints, how they are, and what they offer.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::{EndpointState, EndpointStatus, Event, Host, HostOptions, Intent};
use serde_json::json;

use super::{EXIT_FAILED, EXIT_OK, Failure, home, print};

/// Longest wait for the endpoints' answers.
const TIMEOUT: Duration = Duration::from_secs(20);

pub(super) fn run(as_json: bool) -> Result<u8, Failure> {
    let host = Host::start(HostOptions::new(home()?))?;
    let handle = host.handle();
    let events = handle.subscribe(|| {});
    handle.send(Intent::Ready)?;
    let deadline = Instant::now() + TIMEOUT;
    let mut endpoints: Arc<Vec<EndpointStatus>> = Arc::default();
    while Instant::now() < deadline {
        match events.recv_timeout(Duration::from_millis(100)) {
            Some(Event::Snapshot(snapshot)) => endpoints = snapshot.endpoints,
            Some(Event::Endpoints(now)) => endpoints = now,
            _ => continue,
        }
        if endpoints.iter().all(|e| e.state != EndpointState::Checking) {
            break;
        }
    }
    host.shutdown();
    let text = if as_json {
        as_json_text(&endpoints)?
    } else {
        as_text(&endpoints)
    };
    print(text.as_bytes())?;
    let any = endpoints.iter().any(|e| e.state == EndpointState::Green);
    Ok(if any { EXIT_OK } else { EXIT_FAILED })
}

fn word(state: EndpointState) -> &'static str {
    match state {
        EndpointState::Checking => "no answer yet",
        EndpointState::Green => "ready",
        EndpointState::Amber => "needs attention",
        EndpointState::Red => "not reachable",
    }
}

fn as_json_text(endpoints: &[EndpointStatus]) -> Result<String, Failure> {
    let rows: Vec<_> = endpoints
        .iter()
        .map(|e| {
            let models: Vec<&str> = e.models.iter().map(|m| m.id.as_str()).collect();
            json!({"id": e.id, "url": e.url, "state": word(e.state), "detail": e.detail, "models": models})
        })
        .collect();
    Ok(serde_json::to_string_pretty(&rows)? + "\n")
}

fn as_text(endpoints: &[EndpointStatus]) -> String {
    let mut text = String::new();
    for endpoint in endpoints {
        let _infallible = writeln!(
            text,
            "{} ({}): {}",
            endpoint.id,
            endpoint.url,
            word(endpoint.state)
        );
        if !endpoint.detail.is_empty() {
            let _infallible = writeln!(text, "  {}", endpoint.detail);
        }
        for model in &endpoint.models {
            let _infallible = writeln!(text, "    {}", model.id);
        }
    }
    text
}

//! Named gates that hold a reply until a test opens them.

use std::collections::BTreeSet;
use tokio::sync::watch;

/// The gates of one server. All are closed at first; once open, a gate stays open.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    open: BTreeSet<String>,
    reached: BTreeSet<String>,
}

impl Gates {
    pub(crate) fn open(&self, name: &str) {
        self.state
            .send_modify(|state| state.open.extend([name.to_owned()]));
    }

    /// Notes that a reply has come to this gate, and passes when it is open.
    pub(crate) async fn pass(&self, name: &str) {
        self.state
            .send_modify(|state| state.reached.extend([name.to_owned()]));
        self.wait(|state| state.open.contains(name)).await;
    }

    /// Waits until a reply has come to this gate.
    pub(crate) async fn wait_until_reached(&self, name: &str) {
        self.wait(|state| state.reached.contains(name)).await;
    }

    async fn wait(&self, fits: impl FnMut(&State) -> bool) {
        // An error means that the sender is gone, but the sender lives as long as self.
        if self.state.subscribe().wait_for(fits).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

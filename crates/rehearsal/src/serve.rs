//! Serving a script from a command line.

use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::pin::pin;
use std::task::Poll;

use crate::script::Script;
use crate::server::{Options, Rehearsal};

/// Serves until `shutdown` is done. Prints exactly one line, `rehearsal listening on http://127.0.0.1:PORT/v1`, and
/// flushes it, so that a parent process knows where to go.
///
/// Fails when the port is taken or the line can't be written.
pub async fn serve_until(
    script: Script,
    options: Options,
    shutdown: impl Future,
    out: &mut impl Write,
) -> io::Result<()> {
    let rehearsal = Rehearsal::start(script, options).await?;
    let mut shutdown = pin!(shutdown);
    // The first poll sets up what waits for a signal. A parent may send one as soon as it has read the line.
    let is_over = poll_fn(|cx| Poll::Ready(shutdown.as_mut().poll(cx).is_ready())).await;
    writeln!(out, "rehearsal listening on {}", rehearsal.base_url())?;
    out.flush()?;
    if !is_over {
        shutdown.await;
    }
    rehearsal.shutdown().await;
    Ok(())
}

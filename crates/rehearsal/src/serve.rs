//! Serving a script from a command line.

use std::future::Future;
use std::io::{self, Write};

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
    writeln!(out, "rehearsal listening on {}", rehearsal.base_url())?;
    out.flush()?;
    shutdown.await;
    rehearsal.shutdown().await;
    Ok(())
}

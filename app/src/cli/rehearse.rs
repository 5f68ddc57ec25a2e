//! `folkmoot rehearse`: a script served as an OpenAI-compatible model.

use std::path::Path;

use super::{EXIT_OK, Failure};

pub(super) fn run(script: Option<&Path>, port: u16) -> Result<u8, Failure> {
    // The demo table has an answer for everything; a script of one's own should name what it lacks.
    let strict = script.is_some();
    let script = match script {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| {
                Failure::usage(format!(
                    "script could not be read: {e} ({})",
                    path.display()
                ))
            })?;
            rehearsal::Script::parse(&text)
                .map_err(|e| Failure::usage(format!("{e} ({})", path.display())))?
        }
        None => rehearsal::Script::demo(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let options = rehearsal::Options {
            port,
            strict,
            ..rehearsal::Options::default()
        };
        let interrupted = async {
            let _ended = tokio::signal::ctrl_c().await;
        };
        rehearsal::serve_until(script, options, interrupted, &mut std::io::stdout()).await
    })?;
    Ok(EXIT_OK)
}

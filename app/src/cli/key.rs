//! `folkmoot key`: keys of endpoints, in and out of the vault, never on the screen.

use std::io::{IsTerminal, Write};

use super::{EXIT_OK, Failure, KeyCommand, home, print, read_stdin};

/// Longest key that is taken, in bytes; the longest tokens in use have a few thousand.
const MAX_KEY_BYTES: usize = 16 << 10;

pub(super) fn run(command: &KeyCommand) -> Result<u8, Failure> {
    let home = home()?;
    let vault = models::Vault::open(&home, models::VaultKind::Auto)?;
    match command {
        KeyCommand::Set { endpoint } => {
            let settings = host::load_settings(&home, None).0;
            if !settings.endpoints.iter().any(|e| e.id == *endpoint) {
                let known: Vec<&str> = settings.endpoints.iter().map(|e| e.id.as_str()).collect();
                return Err(Failure::usage(format!(
                    "the settings have no endpoint {endpoint}; they have: {}",
                    if known.is_empty() {
                        "none".to_owned()
                    } else {
                        known.join(", ")
                    }
                )));
            }
            let takes_none = |e: &&host::settings::EndpointSettings| {
                e.id == *endpoint && e.auth == host::settings::EndpointAuth::None
            };
            if settings.endpoints.iter().any(|e| takes_none(&e)) {
                return Err(Failure::usage(format!(
                    "endpoint {endpoint} takes no key as the settings are; write auth = \"vault\" there first ({})",
                    host::settings_path(&home).display()
                )));
            }
            if std::io::stdin().is_terminal() {
                let _closed = writeln!(std::io::stderr(), "Paste the key, then Enter and Ctrl+D:");
            }
            let key = read_stdin()?;
            let key = key.trim();
            let is_word = |c: char| c.is_ascii_graphic();
            if key.is_empty() || key.len() > MAX_KEY_BYTES || !key.chars().all(is_word) {
                return Err(Failure::usage(format!(
                    "a key is one word of ASCII letters, digits and signs, at most {MAX_KEY_BYTES} long; nothing was stored"
                )));
            }
            vault.set(endpoint, &models::SecretString::new(key.to_owned()))?;
            Ok(EXIT_OK)
        }
        KeyCommand::Remove { endpoint } => {
            vault.remove(endpoint)?;
            Ok(EXIT_OK)
        }
        KeyCommand::List => {
            let mut text = vault.list()?.join("\n");
            if !text.is_empty() {
                text.push('\n');
            }
            print(text.as_bytes())
        }
    }
}

//! `folkmoot key`: keys of endpoints, in and out of the vault, never on the screen.

use std::io::{IsTerminal, Write};

use super::{EXIT_OK, Failure, KeyCommand, home, print, read_stdin};

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
            if std::io::stdin().is_terminal() {
                let _closed = writeln!(std::io::stderr(), "Paste the key, then Enter and Ctrl+D:");
            }
            let key = read_stdin()?;
            let key = key.trim();
            if key.is_empty() || key.contains(char::is_whitespace) {
                return Err(Failure::usage("a key is one word; nothing was stored"));
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

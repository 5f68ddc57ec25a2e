//! Keys in the operating system's keyring: Keychain, Credential Manager, Secret Service.
//!
//! A keyring can't be asked which entries it holds, so a small index says which endpoints it holds keys for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use aes_gcm::aead::Generate;
use serde::{Deserialize, Serialize};

use super::VaultError;
use super::key_file::{read, write_atomically};
use crate::secret::SecretString;

/// The name under which entries appear in the system's own keyring program.
const SERVICE: &str = "folkmoot";

/// A place that keeps keys by name. Errors are the keyring's words.
pub(super) trait Keyring: Send + Sync {
    fn set(&self, name: &str, key: &SecretString) -> Result<(), String>;
    fn get(&self, name: &str) -> Result<Option<SecretString>, String>;
    fn remove(&self, name: &str) -> Result<(), String>;
}

/// The system's keyring.
#[derive(Debug)]
pub(super) struct OsKeyring;

impl OsKeyring {
    /// Connects to the keyring, `None` where this system has none.
    pub(super) fn connect() -> Option<OsKeyring> {
        match keyring::Entry::store_status() {
            Ok(()) => Some(OsKeyring),
            Err(error) => {
                log::info!("no system keyring, so keys go to the vault's file: {error}");
                None
            }
        }
    }
}

impl Keyring for OsKeyring {
    fn set(&self, name: &str, key: &SecretString) -> Result<(), String> {
        entry(name)?
            .set_password(key.expose())
            .map_err(|error| error.to_string())
    }

    fn get(&self, name: &str) -> Result<Option<SecretString>, String> {
        match entry(name)?.get_password() {
            Ok(key) => Ok(Some(SecretString::new(key))),
            Err(keyring::Error::NoEntry) => Ok(None),
            // The error may hold the bytes of the key; its text doesn't.
            Err(error) => Err(error.to_string()),
        }
    }

    fn remove(&self, name: &str) -> Result<(), String> {
        match entry(name)?.delete_credential() {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn entry(name: &str) -> Result<keyring::Entry, String> {
    keyring::Entry::new(SERVICE, name).map_err(|error| error.to_string())
}

/// Which endpoints have their key in the keyring.
#[derive(Debug)]
pub(super) struct KeyringIndex {
    path: PathBuf,
    content: IndexContent,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct IndexContent {
    /// Tells this data folder's entries from another's in the same keyring.
    vault: String,
    endpoints: BTreeSet<String>,
}

impl KeyringIndex {
    pub(super) fn load(store: &Path) -> Result<Self, VaultError> {
        let path = store.join("keyring.json");
        let content = match read(&path)? {
            Some(bytes) => serde_json::from_slice(&bytes)
                .map_err(|_| VaultError::Damaged { path: path.clone() })?,
            None => IndexContent {
                vault: random_name(),
                endpoints: BTreeSet::new(),
            },
        };
        Ok(Self { path, content })
    }

    /// The name of an endpoint's entry in the keyring.
    pub(super) fn entry_name(&self, endpoint_id: &str) -> String {
        format!("{endpoint_id} ({})", self.content.vault)
    }

    pub(super) fn contains(&self, endpoint_id: &str) -> bool {
        self.content.endpoints.contains(endpoint_id)
    }

    pub(super) fn insert(&mut self, endpoint_id: &str) -> Result<(), VaultError> {
        if self.content.endpoints.insert(endpoint_id.to_owned()) {
            self.save()?;
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, endpoint_id: &str) -> Result<(), VaultError> {
        if self.content.endpoints.remove(endpoint_id) {
            self.save()?;
        }
        Ok(())
    }

    pub(super) fn into_ids(self) -> BTreeSet<String> {
        self.content.endpoints
    }

    fn save(&self) -> Result<(), VaultError> {
        let json = serde_json::to_vec(&self.content).map_err(|error| VaultError::Io {
            action: "write",
            source: error.into(),
            path: self.path.clone(),
        })?;
        write_atomically(&self.path, &json)
    }
}

fn random_name() -> String {
    <[u8; 8]>::generate()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

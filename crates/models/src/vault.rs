//! The keys of keyed endpoints, at rest.
//!
//! A key lies in the operating system's keyring where there is one, and else in an encrypted file. Calls block, on a
//! prompt of the keyring's for minutes even: make them from a thread that may wait.

mod key_file;
mod keyring_store;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::secret::SecretString;
use key_file::KeyFile;
use keyring_store::{Keyring, KeyringIndex, OsKeyring};

/// Where a vault keeps keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaultKind {
    /// In the system's keyring; in the file when there is none or it refuses.
    Auto,
    /// In the file always.
    File,
}

/// Why a key could not be kept or found. No message contains a key.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    /// The file system refused.
    #[error("can't {action}: {source}: {}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The operating system's reason.
        source: std::io::Error,
        /// The file or folder.
        path: PathBuf,
    },
    /// The stored keys exist, and the file that unlocks them doesn't.
    #[error("the stored keys can't be read without their key file; restore it, or delete api-keys.enc and enter the keys again: {}", path.display())]
    KeyFileMissing {
        /// Where the key file should be.
        path: PathBuf,
    },
    /// A file of the vault was changed or belongs to another key file.
    #[error("the vault's file is damaged or was locked with another key; move it away and enter the keys again: {}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The system's keyring holds the key and doesn't hand it out.
    #[error("the system's keyring refused: {reason}; unlock it and try again")]
    Keyring {
        /// The keyring's words.
        reason: String,
    },
    /// There is nothing to keep.
    #[error("the key is empty")]
    EmptyKey,
}

/// The key vault of one data folder.
pub struct Vault {
    store: PathBuf,
    file: KeyFile,
    keyring: Option<Box<dyn Keyring>>,
    /// One change at a time within this process; a file lock does the same between processes.
    turn: Mutex<()>,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vault")
            .field("store", &self.store)
            .field("keyring", &self.keyring.is_some())
            .finish()
    }
}

impl Vault {
    /// The vault under a data folder, in its `store` folder. Nothing is written before the first key.
    ///
    /// # Errors
    /// [`VaultError::Io`] where the folder can't be read.
    pub fn open(home: &Path, kind: VaultKind) -> Result<Vault, VaultError> {
        let keyring = match kind {
            VaultKind::Auto => {
                OsKeyring::connect().map(|keyring| Box::new(keyring) as Box<dyn Keyring>)
            }
            VaultKind::File => None,
        };
        Vault::with_keyring(home, keyring)
    }

    fn with_keyring(home: &Path, keyring: Option<Box<dyn Keyring>>) -> Result<Vault, VaultError> {
        let store = home.join("store");
        let file = KeyFile::new(&store);
        file.tighten()?;
        Ok(Vault {
            store,
            file,
            keyring,
            turn: Mutex::new(()),
        })
    }

    /// Keeps `key` for an endpoint, in place of an earlier one.
    ///
    /// # Errors
    /// [`VaultError::EmptyKey`], or what the file system or the vault's own files say.
    pub fn set(&self, endpoint_id: &str, key: &SecretString) -> Result<(), VaultError> {
        if key.is_empty() {
            return Err(VaultError::EmptyKey);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = self.file.lock()?;
        let mut index = KeyringIndex::load(&self.store)?;
        if let Some(keyring) = &self.keyring {
            match keyring.set(&index.entry_name(endpoint_id), key) {
                Ok(()) => {
                    index.insert(endpoint_id)?;
                    return self.file.change(|keys| _ = keys.remove(endpoint_id));
                }
                Err(reason) => log::warn!(
                    "the keyring refused a key, so it goes to the vault's file: {reason}"
                ),
            }
        }
        self.file
            .change(|keys| _ = keys.insert(endpoint_id.to_owned(), key.clone()))?;
        index.remove(endpoint_id)
    }

    /// The key of an endpoint, `None` where none was ever entered.
    ///
    /// # Errors
    /// [`VaultError::Keyring`] where the key is in the keyring and the keyring is closed, and what the files say.
    pub fn get(&self, endpoint_id: &str) -> Result<Option<SecretString>, VaultError> {
        let index = KeyringIndex::load(&self.store)?;
        if !index.contains(endpoint_id) {
            return Ok(self.file.load()?.remove(endpoint_id));
        }
        let Some(keyring) = &self.keyring else {
            return Err(VaultError::Keyring {
                reason: "it holds this key, and it can't be reached".to_owned(),
            });
        };
        keyring
            .get(&index.entry_name(endpoint_id))
            .map_err(|reason| VaultError::Keyring { reason })
    }

    /// Forgets the key of an endpoint. Forgetting what isn't there is no error.
    ///
    /// # Errors
    /// As [`Vault::get`].
    pub fn remove(&self, endpoint_id: &str) -> Result<(), VaultError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _lock = self.file.lock()?;
        let mut index = KeyringIndex::load(&self.store)?;
        if index.contains(endpoint_id) {
            let Some(keyring) = &self.keyring else {
                return Err(VaultError::Keyring {
                    reason: "it holds this key, and it can't be reached".to_owned(),
                });
            };
            keyring
                .remove(&index.entry_name(endpoint_id))
                .map_err(|reason| VaultError::Keyring { reason })?;
            index.remove(endpoint_id)?;
        }
        self.file.change(|keys| _ = keys.remove(endpoint_id))
    }

    /// The endpoints that have a key, sorted.
    ///
    /// # Errors
    /// What the vault's files say.
    pub fn list(&self) -> Result<Vec<String>, VaultError> {
        let mut ids: Vec<String> = self.file.load()?.into_keys().collect();
        ids.extend(KeyringIndex::load(&self.store)?.into_ids());
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;

    /// A keyring in memory, which may be closed.
    #[derive(Default, Clone)]
    struct MemoryKeyring {
        keys: Arc<Mutex<BTreeMap<String, SecretString>>>,
        closed: bool,
    }

    impl MemoryKeyring {
        fn open(
            &self,
        ) -> Result<std::sync::MutexGuard<'_, BTreeMap<String, SecretString>>, String> {
            if self.closed {
                return Err("closed".to_owned());
            }
            Ok(self.keys.lock().expect("not poisoned"))
        }
    }

    impl Keyring for MemoryKeyring {
        fn set(&self, name: &str, key: &SecretString) -> Result<(), String> {
            self.open()?.insert(name.to_owned(), key.clone());
            Ok(())
        }

        fn get(&self, name: &str) -> Result<Option<SecretString>, String> {
            Ok(self.open()?.get(name).cloned())
        }

        fn remove(&self, name: &str) -> Result<(), String> {
            self.open()?.remove(name);
            Ok(())
        }
    }

    fn home() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    fn key(vault: &Vault, id: &str) -> Option<String> {
        vault
            .get(id)
            .expect("readable")
            .map(|key| key.expose().to_owned())
    }

    fn file_vault(home: &Path) -> Vault {
        Vault::open(home, VaultKind::File).expect("a vault")
    }

    fn keyring_vault(home: &Path, keyring: &MemoryKeyring) -> Vault {
        Vault::with_keyring(home, Some(Box::new(keyring.clone()))).expect("a vault")
    }

    #[test]
    fn keys_survive_in_the_file_and_can_be_replaced_and_removed() {
        let home = home();
        let vault = file_vault(home.path());
        assert_eq!(vault.list().expect("readable"), Vec::<String>::new());
        assert!(
            !home.path().join("store").exists(),
            "reading writes nothing"
        );
        vault.set("b", &SecretString::new("sk-b")).expect("kept");
        vault.set("a", &SecretString::new("sk-old")).expect("kept");
        vault.set("a", &SecretString::new("sk-a")).expect("kept");
        let vault = file_vault(home.path());
        assert_eq!(vault.list().expect("readable"), ["a", "b"]);
        assert_eq!(
            (key(&vault, "a").as_deref(), key(&vault, "c")),
            (Some("sk-a"), None)
        );
        vault.remove("a").expect("removed");
        vault.remove("never there").expect("removed");
        assert_eq!(vault.list().expect("readable"), ["b"]);
        assert!(matches!(
            vault.set("a", &SecretString::new(" ")),
            Err(VaultError::EmptyKey)
        ));
    }

    #[test]
    fn no_file_shows_a_key_and_none_is_open_to_others() {
        let home = home();
        file_vault(home.path())
            .set("a", &SecretString::new("sk-planted"))
            .expect("kept");
        let keyring = MemoryKeyring::default();
        keyring_vault(home.path(), &keyring)
            .set("b", &SecretString::new("sk-planted"))
            .expect("kept");
        for entry in std::fs::read_dir(home.path().join("store")).expect("readable") {
            let path = entry.expect("readable").path();
            let bytes = std::fs::read(&path).expect("readable");
            assert!(
                !bytes.windows(6).any(|window| window == b"sk-pla"),
                "{}",
                path.display()
            );
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                let mode = std::fs::metadata(&path)
                    .expect("there")
                    .permissions()
                    .mode();
                assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_left_open_to_others_are_closed_on_opening() {
        use std::os::unix::fs::PermissionsExt;
        let home = home();
        file_vault(home.path())
            .set("a", &SecretString::new("sk-a"))
            .expect("kept");
        let path = home.path().join("store/vault.key");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("set");
        let vault = file_vault(home.path());
        let mode = std::fs::metadata(&path)
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(key(&vault, "a").as_deref(), Some("sk-a"));
    }

    #[test]
    fn a_lost_key_file_and_a_changed_file_are_told_and_nothing_is_overwritten() {
        let home = home();
        let store = home.path().join("store");
        let vault = file_vault(home.path());
        vault.set("a", &SecretString::new("sk-a")).expect("kept");

        let kept = std::fs::read(store.join("api-keys.enc")).expect("readable");
        for at in 0..kept.len() {
            let mut changed = kept.clone();
            changed[at] ^= 1;
            std::fs::write(store.join("api-keys.enc"), &changed).expect("written");
            assert!(
                matches!(vault.get("a"), Err(VaultError::Damaged { .. })),
                "byte {at}"
            );
            assert!(vault.set("b", &SecretString::new("sk-b")).is_err());
            assert_eq!(
                std::fs::read(store.join("api-keys.enc")).expect("readable"),
                changed
            );
        }
        std::fs::write(store.join("api-keys.enc"), &kept[..kept.len() / 2]).expect("written");
        assert!(matches!(vault.get("a"), Err(VaultError::Damaged { .. })));

        std::fs::write(store.join("api-keys.enc"), &kept).expect("written");
        std::fs::remove_file(store.join("vault.key")).expect("removed");
        assert!(matches!(
            vault.get("a"),
            Err(VaultError::KeyFileMissing { .. })
        ));
        assert!(vault.set("b", &SecretString::new("sk-b")).is_err());
        assert!(
            !store.join("vault.key").exists(),
            "a new key file would hide the loss"
        );
    }

    #[test]
    fn a_keyring_holds_the_key_and_the_file_does_not() {
        let home = home();
        let keyring = MemoryKeyring::default();
        file_vault(home.path())
            .set("a", &SecretString::new("sk-old"))
            .expect("kept");
        let vault = keyring_vault(home.path(), &keyring);
        assert_eq!(
            key(&vault, "a").as_deref(),
            Some("sk-old"),
            "keys of the file are still found"
        );
        vault.set("a", &SecretString::new("sk-a")).expect("kept");
        assert_eq!(key(&vault, "a").as_deref(), Some("sk-a"));
        assert_eq!(vault.list().expect("readable"), ["a"]);
        assert_eq!(keyring.keys.lock().expect("not poisoned").len(), 1);
        assert!(vault.file.load().expect("readable").is_empty());
        vault.remove("a").expect("removed");
        assert!(keyring.keys.lock().expect("not poisoned").is_empty());
        assert_eq!(vault.list().expect("readable"), Vec::<String>::new());
    }

    #[test]
    fn a_keyring_that_refuses_leaves_the_key_to_the_file() {
        let home = home();
        let closed = MemoryKeyring {
            closed: true,
            ..MemoryKeyring::default()
        };
        let vault = keyring_vault(home.path(), &closed);
        vault.set("a", &SecretString::new("sk-a")).expect("kept");
        assert_eq!(key(&vault, "a").as_deref(), Some("sk-a"));
    }

    #[test]
    fn a_key_in_a_closed_keyring_is_an_error_and_not_an_absence() {
        let home = home();
        let keyring = MemoryKeyring::default();
        keyring_vault(home.path(), &keyring)
            .set("a", &SecretString::new("sk-a"))
            .expect("kept");
        let closed = MemoryKeyring {
            closed: true,
            ..keyring
        };
        assert!(matches!(
            keyring_vault(home.path(), &closed).get("a"),
            Err(VaultError::Keyring { .. })
        ));
        let without = file_vault(home.path());
        assert!(matches!(without.get("a"), Err(VaultError::Keyring { .. })));
        assert_eq!(without.list().expect("readable"), ["a"]);
        without
            .set("a", &SecretString::new("sk-new"))
            .expect("kept");
        assert_eq!(key(&without, "a").as_deref(), Some("sk-new"));
    }

    #[test]
    fn two_data_folders_keep_their_keys_apart_in_one_keyring() {
        let (one, two) = (home(), home());
        let keyring = MemoryKeyring::default();
        let (one, two) = (
            keyring_vault(one.path(), &keyring),
            keyring_vault(two.path(), &keyring),
        );
        one.set("a", &SecretString::new("sk-1")).expect("kept");
        two.set("a", &SecretString::new("sk-2")).expect("kept");
        assert_eq!(
            (key(&one, "a").as_deref(), key(&two, "a").as_deref()),
            (Some("sk-1"), Some("sk-2"))
        );
    }

    #[test]
    fn many_threads_lose_no_key() {
        let home = home();
        std::thread::scope(|scope| {
            for n in 0..8 {
                // A vault each, as two processes would have.
                let vault = file_vault(home.path());
                scope.spawn(move || {
                    vault
                        .set(&format!("e{n}"), &SecretString::new("sk"))
                        .expect("kept");
                });
            }
        });
        assert_eq!(file_vault(home.path()).list().expect("readable").len(), 8);
    }
}

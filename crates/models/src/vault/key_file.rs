//! Keys in an encrypted file: `api-keys.enc`, locked with the key in `vault.key` beside it.
//!
//! The file is a mark of 8 bytes, a nonce of 12 and the ciphertext of a JSON object from endpoint id to key, under
//! AES-256-GCM (NIST SP 800-38D) with the mark as associated data. It keeps keys out of backups of the one file, out of
//! searches and off screens; who can read the whole folder as the user can read the keys.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, Generate, Key, KeyInit, Nonce, Payload};
use zeroize::Zeroizing;

use super::VaultError;
use crate::secret::SecretString;

const MARK: &[u8; 8] = b"FMKEYS1\n";
const NONCE_BYTES: usize = 12;
const KEY_BYTES: usize = 32;

/// The keys by endpoint.
pub(super) type Keys = BTreeMap<String, SecretString>;

#[derive(Debug)]
pub(super) struct KeyFile {
    store: PathBuf,
    keys: PathBuf,
    master: PathBuf,
}

impl KeyFile {
    pub(super) fn new(store: &Path) -> Self {
        Self {
            store: store.to_owned(),
            keys: store.join("api-keys.enc"),
            master: store.join("vault.key"),
        }
    }

    /// Takes away others' access to the files, where a copy or a restore gave it.
    pub(super) fn tighten(&self) -> Result<(), VaultError> {
        for path in [&self.keys, &self.master] {
            close_to_others(path)?;
        }
        Ok(())
    }

    /// Keeps other processes from changing the vault until the guard is dropped.
    pub(super) fn lock(&self) -> Result<File, VaultError> {
        make_private_folder(&self.store)?;
        let path = self.store.join("vault.lock");
        let file = private()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let file = file.map_err(io_error("open the vault's lock", &path))?;
        file.lock().map_err(io_error("lock the vault", &path))?;
        Ok(file)
    }

    pub(super) fn load(&self) -> Result<Keys, VaultError> {
        let Some(bytes) = read(&self.keys)? else {
            return Ok(Keys::new());
        };
        let Some(cipher) = self.cipher()? else {
            return Err(VaultError::KeyFileMissing {
                path: self.master.clone(),
            });
        };
        open(&cipher, &bytes).ok_or_else(|| VaultError::Damaged {
            path: self.keys.clone(),
        })
    }

    /// Changes the keys; writes nothing where nothing changed. The caller holds the lock.
    pub(super) fn change(&self, change: impl FnOnce(&mut Keys)) -> Result<(), VaultError> {
        let mut keys = self.load()?;
        let before = keys.clone();
        change(&mut keys);
        let same = |(a, b): (&SecretString, &SecretString)| a.expose() == b.expose();
        if keys.keys().eq(before.keys()) && keys.values().zip(before.values()).all(same) {
            return Ok(());
        }
        let cipher = match self.cipher()? {
            Some(cipher) => cipher,
            None => self.make_master()?,
        };
        let sealed = seal(&cipher, &keys).ok_or_else(|| VaultError::Damaged {
            path: self.master.clone(),
        })?;
        write_atomically(&self.keys, &sealed)
    }

    fn cipher(&self) -> Result<Option<Aes256Gcm>, VaultError> {
        let Some(master) = read(&self.master)?.map(Zeroizing::new) else {
            return Ok(None);
        };
        match Aes256Gcm::new_from_slice(&master) {
            Ok(cipher) => Ok(Some(cipher)),
            Err(_) => Err(VaultError::Damaged {
                path: self.master.clone(),
            }),
        }
    }

    fn make_master(&self) -> Result<Aes256Gcm, VaultError> {
        let key = Key::<Aes256Gcm>::try_generate().map_err(|error| VaultError::Io {
            action: "make a key",
            source: io::Error::other(error.to_string()),
            path: self.master.clone(),
        })?;
        debug_assert_eq!(key.len(), KEY_BYTES);
        write_atomically(&self.master, &key)?;
        Ok(Aes256Gcm::new(&key))
    }
}

fn open(cipher: &Aes256Gcm, bytes: &[u8]) -> Option<Keys> {
    let sealed = bytes.strip_prefix(MARK)?;
    let (nonce, ciphertext) = sealed.split_at_checked(NONCE_BYTES)?;
    let nonce = Nonce::<Aes256Gcm>::try_from(nonce).ok()?;
    let payload = Payload {
        msg: ciphertext,
        aad: MARK,
    };
    let json = Zeroizing::new(cipher.decrypt(&nonce, payload).ok()?);
    let keys: BTreeMap<String, String> = serde_json::from_slice(&json).ok()?;
    Some(
        keys.into_iter()
            .map(|(id, key)| (id, SecretString::new(key)))
            .collect(),
    )
}

fn seal(cipher: &Aes256Gcm, keys: &Keys) -> Option<Vec<u8>> {
    let shown: BTreeMap<&str, &str> = keys
        .iter()
        .map(|(id, key)| (id.as_str(), key.expose()))
        .collect();
    let json = Zeroizing::new(serde_json::to_vec(&shown).ok()?);
    let nonce = Nonce::<Aes256Gcm>::try_generate().ok()?;
    let payload = Payload {
        msg: &json[..],
        aad: MARK,
    };
    let ciphertext = cipher.encrypt(&nonce, payload).ok()?;
    Some([&MARK[..], &nonce[..], &ciphertext[..]].concat())
}

/// Replaces a file as a whole, readable by the user alone: a temporary file, `fsync`, rename, `fsync` of the folder.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), VaultError> {
    let temporary = path.with_extension(format!("tmp-{}", std::process::id()));
    let written = private()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        _ = fs::remove_file(&temporary);
        return Err(io_error("write", path)(error));
    }
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(io_error("write", path))?;
    }
    Ok(())
}

/// The file's bytes, `None` where there is no file.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, VaultError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> VaultError {
    move |source| VaultError::Io {
        action,
        source,
        path: path.to_owned(),
    }
}

/// Options that create a file for the user alone.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn make_private_folder(path: &Path) -> Result<(), VaultError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(path)
        .map_err(io_error("make the folder", path))
}

#[cfg(unix)]
fn close_to_others(path: &Path) -> Result<(), VaultError> {
    use std::os::unix::fs::PermissionsExt;
    match fs::metadata(path) {
        Ok(metadata) if metadata.permissions().mode() & 0o077 != 0 => {
            log::warn!("taking away others' access: {}", path.display());
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))
                .map_err(io_error("protect", path))
        }
        _ => Ok(()),
    }
}

/// Elsewhere the folder inherits the user's own access list.
#[cfg(not(unix))]
fn close_to_others(_: &Path) -> Result<(), VaultError> {
    Ok(())
}

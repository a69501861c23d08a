//! What the engine keeps for secrets: the key that encrypts them, and the authority that answers for their hosts.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use tokio_rustls::TlsConnector;

use super::authority::Authority;
use super::tls;
use crate::error::EngineError;
use crate::home::create_private;

/// Bytes of the key.
const KEY_LEN: usize = 32;

/// Longest file that is read here, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// The keys in one folder; each is made when it is first needed, readable by the owner only.
pub struct Keys {
    folder: PathBuf,
    sealing: Mutex<Option<Arc<LessSafeKey>>>,
    authority: Mutex<Option<Arc<Authority>>>,
    connector: Mutex<Option<TlsConnector>>,
}

impl Keys {
    /// The keys in `folder`, which need not exist yet.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder, sealing: Mutex::default(), authority: Mutex::default(), connector: Mutex::default() }
    }

    /// Encrypts `value` for the one that is called `owner`.
    ///
    /// # Errors
    /// If the key cannot be read or made.
    pub fn seal(&self, value: &str, owner: &str) -> Result<String, EngineError> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| internal("no random bytes", &error))?;
        let mut bytes = value.as_bytes().to_vec();
        self.sealing()?
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(owner), &mut bytes)
            .map_err(|error| internal("cannot encrypt a secret", &error))?;
        Ok(STANDARD.encode([&nonce[..], &bytes].concat()))
    }

    /// Decrypts what [`Keys::seal`] gave for this owner.
    ///
    /// # Errors
    /// If the key is another one, or the text is damaged.
    pub fn open(&self, sealed: &str, owner: &str) -> Result<String, EngineError> {
        let damaged = || EngineError::Internal("it is damaged, or encrypted with a key that is gone".to_owned());
        let bytes = STANDARD.decode(sealed).map_err(|_| damaged())?;
        let (nonce, bytes) = bytes.split_first_chunk::<NONCE_LEN>().ok_or_else(damaged)?;
        let mut bytes = bytes.to_vec();
        let key = self.sealing()?;
        let opened = key.open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(owner), &mut bytes);
        String::from_utf8(opened.map_err(|_| damaged())?.to_vec()).map_err(|_| damaged())
    }

    /// The authority that answers for the hosts of secrets.
    ///
    /// # Errors
    /// If its key cannot be read or made.
    pub fn authority(&self) -> Result<Arc<Authority>, EngineError> {
        once(&self.authority, || {
            let make = || Authority::new_key().map(String::into_bytes);
            let key = self.read_or_make("authority.key", make)?;
            let key = String::from_utf8(key).map_err(|error| internal("authority.key is no text", &error))?;
            let authority =
                Authority::of_key(&key, |made| self.read_or_make("authority.pem", || Ok(made.into_bytes())))
                    .map_err(|error| EngineError::Internal(format!("authority.key cannot be used: {error}")))?;
            Ok(Arc::new(authority))
        })
    }

    /// Speaks TLS to the real hosts, whose certificates must be trusted by the engine's host.
    ///
    /// # Errors
    /// If the host trusts nobody.
    pub(super) fn connector(&self) -> Result<TlsConnector, EngineError> {
        once(&self.connector, || tls::connector().map_err(EngineError::Internal))
    }

    /// Takes another connector than that of the host.
    #[cfg(test)]
    pub(super) fn use_connector(&self, connector: TlsConnector) {
        *self.connector.lock().unwrap_or_else(PoisonError::into_inner) = Some(connector);
    }

    fn sealing(&self) -> Result<Arc<LessSafeKey>, EngineError> {
        once(&self.sealing, || {
            let make = || {
                let mut key = vec![0; KEY_LEN];
                getrandom::fill(&mut key).map_err(|error| error.to_string())?;
                Ok(key)
            };
            let key = self.read_or_make("secrets.key", make)?;
            let key = UnboundKey::new(&AES_256_GCM, &key)
                .map_err(|_| EngineError::Internal(format!("secrets.key must have {KEY_LEN} bytes: {}", key.len())))?;
            Ok(Arc::new(LessSafeKey::new(key)))
        })
    }

    fn read_or_make(&self, name: &str, make: impl FnOnce() -> Result<Vec<u8>, String>) -> Result<Vec<u8>, EngineError> {
        let path = self.folder.join(name);
        let failed = |error: io::Error| internal(&format!("cannot read or write `{}`", path.display()), &error);
        match File::open(&path) {
            Ok(file) => {
                let mut bytes = Vec::new();
                file.take(MAX_FILE).read_to_end(&mut bytes).map_err(failed)?;
                Ok(bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let bytes = make().map_err(|error| EngineError::Internal(format!("cannot make {name}: {error}")))?;
                write_private(&self.folder, &path, &bytes).map_err(failed)?;
                Ok(bytes)
            }
            Err(error) => Err(failed(error)),
        }
    }
}

/// The file is either whole or not there.
fn write_private(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    create_private(folder)?;
    let new = path.with_extension("new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    File::open(folder)?.sync_all()
}

/// What is in the slot, made if it is empty.
fn once<T: Clone>(slot: &Mutex<Option<T>>, make: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = &*slot {
        return Ok(made.clone());
    }
    let made = make()?;
    *slot = Some(made.clone());
    Ok(made)
}

fn internal(what: &str, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Internal(format!("{what}: {error}"))
}

//! The private keys a bundle is opened with.

use std::fmt;
use std::io::Read;
use std::iter;

use age::secrecy::SecretString;
use age::secrecy::zeroize::Zeroizing;
use age::ssh::UnsupportedKey;

use crate::{recipients, wire};

/// No key file is larger, and the age library reads a key again for each of its lines.
const MOST: usize = 64 * 1024;
/// The most costly passphrase check accepted. It needs 1 GiB of memory; age writes 18.
const WORK_MOST: u8 = 20;

/// Private keys, from what a file holds.
pub struct Identities(Vec<Box<dyn age::Identity + Send + Sync>>);

impl fmt::Debug for Identities {
    // Keys must not end up in a log, so only their number is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identities({})", self.0.len())
    }
}

/// Reason why a private key cannot be used. No text contains any part of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// There is nothing but blank lines and comments.
    #[error("there is no private key in the file")]
    Empty,
    /// The file is too large to be a key.
    #[error("the file is larger than {MOST} bytes, so it is not a private key")]
    TooLarge,
    /// A public key was given.
    #[error("this is a public key; opening needs the private key that belongs to it")]
    PublicKey,
    /// A line is not a key.
    #[error("line {line} of the file is not a private key of age or OpenSSH")]
    NotAKey {
        /// The line, counted from 1.
        line: usize,
    },
    /// The key has a type that cannot be used.
    #[error("the private key is {kind}, which is not supported")]
    Unsupported {
        /// Type of the key.
        kind: String,
    },
    /// The key has an old form that age does not read.
    #[error(
        "the private key is in an old form that cannot be read; change a copy of it by `ssh-keygen -p -f COPY`"
    )]
    OldForm,
    /// The key has a passphrase and none was given.
    #[error("the private key is protected by a passphrase, and none was given")]
    PassphraseNeeded,
    /// The passphrase does not fit.
    #[error("the passphrase does not open the private key")]
    WrongPassphrase,
    /// The key is cut off or changed.
    #[error("the private key is damaged")]
    Damaged,
}

impl Identities {
    /// Reads an age identity file, also one protected by a passphrase, or an OpenSSH private key.
    ///
    /// `ask` is called at most once, and only if the file needs a passphrase.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn parse(content: &[u8], ask: &dyn Fn() -> Option<String>) -> Result<Self, IdentityError> {
        if content.len() > MOST {
            return Err(IdentityError::TooLarge);
        }
        if content.starts_with(b"age-encryption.org/") {
            return parse_lines(&text(&unlock(content, ask)?)?);
        }
        let text = text(content)?;
        let first = text
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with('#'));
        let label = first.and_then(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"));
        match label {
            Some("AGE ENCRYPTED FILE") => {
                parse_lines(&self::text(&unlock(text.trim_start().as_bytes(), ask)?)?)
            }
            Some("OPENSSH PRIVATE KEY" | "RSA PRIVATE KEY") => parse_ssh(&text, ask),
            Some("PRIVATE KEY" | "ENCRYPTED PRIVATE KEY" | "EC PRIVATE KEY" | "DSA PRIVATE KEY") => {
                Err(IdentityError::OldForm)
            }
            Some(label) if label.ends_with("PUBLIC KEY") => Err(IdentityError::PublicKey),
            _ => parse_lines(&text),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn age::Identity> {
        self.0.iter().map(|identity| {
            let identity: &dyn age::Identity = identity.as_ref();
            identity
        })
    }
}

/// Every line has to be text; one with other bytes is named.
fn text(content: &[u8]) -> Result<Zeroizing<String>, IdentityError> {
    match std::str::from_utf8(content) {
        Ok(text) => Ok(Zeroizing::new(text.to_owned())),
        Err(error) => {
            let before = content.get(..error.valid_up_to()).unwrap_or_default();
            Err(IdentityError::NotAKey {
                line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            })
        }
    }
}

/// Reads the lines of an age identity file.
fn parse_lines(text: &str) -> Result<Identities, IdentityError> {
    let mut keys: Vec<Box<dyn age::Identity + Send + Sync>> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.parse::<age::x25519::Identity>() {
            Ok(key) => keys.push(Box::new(key)),
            Err(_) => return Err(line_fault(line, number)),
        }
    }
    if keys.is_empty() {
        Err(IdentityError::Empty)
    } else {
        Ok(Identities(keys))
    }
}

fn line_fault(line: &str, number: usize) -> IdentityError {
    let unsupported = |kind: &str| IdentityError::Unsupported {
        kind: kind.to_owned(),
    };
    if line.starts_with("AGE-SECRET-KEY-PQ-") {
        return unsupported("a post-quantum age key");
    }
    if line.starts_with("AGE-PLUGIN-") {
        return unsupported("a key of an age plugin");
    }
    let kind = line.split_whitespace().next().unwrap_or_default();
    if line.starts_with("age1") || (recipients::is_ssh_type(kind) && line.contains(' ')) {
        return IdentityError::PublicKey;
    }
    IdentityError::NotAKey { line: number }
}

/// Decrypts an age identity file that is protected by a passphrase, armored or not.
fn unlock(content: &[u8], ask: &dyn Fn() -> Option<String>) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
    let reader = age::armor::ArmoredReader::new(content);
    let decryptor = age::Decryptor::new_buffered(reader).map_err(|_| IdentityError::Damaged)?;
    if !decryptor.is_scrypt() {
        return Err(IdentityError::Unsupported {
            kind: "encrypted to another key".to_owned(),
        });
    }
    let mut passphrase = age::scrypt::Identity::new(asked(ask)?);
    passphrase.set_max_work_factor(WORK_MOST);
    let reader = decryptor
        .decrypt(iter::once(&passphrase as &dyn age::Identity))
        .map_err(|error| match error {
            age::DecryptError::ExcessiveWork { .. } => IdentityError::Unsupported {
                kind: "protected by a passphrase with an excessive work factor".to_owned(),
            },
            age::DecryptError::InvalidHeader => IdentityError::Damaged,
            _ => IdentityError::WrongPassphrase,
        })?;
    let mut plain = Zeroizing::new(Vec::new());
    // The content is not longer than the file, which is already bounded.
    reader
        .take(MOST as u64)
        .read_to_end(&mut plain)
        .map_err(|_| IdentityError::Damaged)?;
    Ok(plain)
}

fn asked(ask: &dyn Fn() -> Option<String>) -> Result<SecretString, IdentityError> {
    ask()
        .map(SecretString::from)
        .ok_or(IdentityError::PassphraseNeeded)
}

fn parse_ssh(text: &str, ask: &dyn Fn() -> Option<String>) -> Result<Identities, IdentityError> {
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("-----BEGIN "));
    let mut clean = Zeroizing::new(String::with_capacity(text.len() + 1));
    let mut encoded = Zeroizing::new(String::with_capacity(text.len()));
    for line in lines.filter(|line| !line.is_empty() || text.contains("DEK-Info")) {
        clean.push_str(line);
        clean.push('\n');
        if !line.starts_with("-----") {
            encoded.push_str(line);
        }
        if line.starts_with("-----END ") {
            break;
        }
    }
    if clean.starts_with("-----BEGIN OPENSSH") {
        let blob = Zeroizing::new(wire::base64(&encoded).ok_or(IdentityError::Damaged)?);
        if !wire::private_key_is_sound(&blob) {
            return Err(IdentityError::Damaged);
        }
    }
    let key = age::ssh::Identity::from_buffer(clean.as_bytes(), None).map_err(|_| IdentityError::Damaged)?;
    let key = match key {
        age::ssh::Identity::Unencrypted(key) => key,
        age::ssh::Identity::Encrypted(key) => key
            .decrypt(asked(ask)?)
            .map_err(|_| IdentityError::WrongPassphrase)?,
        age::ssh::Identity::Unsupported(kind) => return Err(unsupported(kind)),
    };
    Ok(Identities(vec![Box::new(age::ssh::Identity::Unencrypted(key))]))
}

fn unsupported(key: UnsupportedKey) -> IdentityError {
    match key {
        UnsupportedKey::EncryptedPem => IdentityError::OldForm,
        UnsupportedKey::EncryptedSsh(_) => IdentityError::Unsupported {
            kind: "encrypted by an unknown cipher".to_owned(),
        },
        UnsupportedKey::Hardware(kind) | UnsupportedKey::Type(kind) => match kind.as_str() {
            // The age library says so of a key whose numbers it could not read.
            "ssh-rsa" | "ssh-ed25519" => IdentityError::Damaged,
            // A damaged file can hold anything there, so only a known form is shown.
            kind if recipients::is_ssh_type(kind) => IdentityError::Unsupported {
                kind: format!("of the type {kind}"),
            },
            _ => IdentityError::Damaged,
        },
    }
}

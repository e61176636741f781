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
pub struct Identities(Keys);

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

impl IdentityError {
    /// Returns true if a key has a passphrase and none was given.
    #[must_use]
    pub fn needs_passphrase(&self) -> bool {
        *self == Self::PassphraseNeeded
    }
}

impl Identities {
    /// Reads an age identity file, also one protected by a passphrase, or OpenSSH private keys. A file may hold several keys of both kinds.
    ///
    /// `ask` is called for each key with a passphrase that none of the earlier answers opens.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn parse(content: &[u8], ask: &dyn Fn() -> Option<String>) -> Result<Self, IdentityError> {
        if content.len() > MOST {
            return Err(IdentityError::TooLarge);
        }
        let mut passphrases = Passphrases {
            ask,
            given: Vec::new(),
        };
        let mut keys = Vec::new();
        if content.starts_with(b"age-encryption.org/") {
            read_lines(&text(&unlock(content, &mut passphrases)?)?, &mut keys)?;
        } else {
            read_parts(&text(content)?, &mut passphrases, &mut keys)?;
        }
        match keys.is_empty() {
            true => Err(IdentityError::Empty),
            false => Ok(Self(keys)),
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

type Keys = Vec<Box<dyn age::Identity + Send + Sync>>;

/// Passphrases that were asked for. Several keys often have the same one.
struct Passphrases<'a> {
    ask: &'a dyn Fn() -> Option<String>,
    given: Vec<SecretString>,
}

impl Passphrases<'_> {
    /// Opens a key with a passphrase that was given before, or else with another one.
    fn open<T>(
        &mut self,
        open: impl Fn(SecretString) -> Result<T, IdentityError>,
    ) -> Result<T, IdentityError> {
        for given in &self.given {
            match open(given.clone()) {
                Err(IdentityError::WrongPassphrase) => {}
                opened => return opened,
            }
        }
        let asked = (self.ask)().map(SecretString::from);
        let asked = asked.ok_or(IdentityError::PassphraseNeeded)?;
        let opened = open(asked.clone())?;
        self.given.push(asked);
        Ok(opened)
    }
}

/// Reads the keys of a file: PEM blocks, and lines of an age identity file between them.
fn read_parts(text: &str, passphrases: &mut Passphrases<'_>, keys: &mut Keys) -> Result<(), IdentityError> {
    let mut lines = (1..).zip(text.lines().map(str::trim)).peekable();
    while let Some((number, line)) = lines.next() {
        let label = line
            .strip_prefix("-----BEGIN ")
            .and_then(|rest| rest.strip_suffix("-----"));
        let Some(label) = label else {
            // Public keys of ssh lie beside their private keys.
            if keys.is_empty() || !is_ssh_public(line) {
                keys.extend(key_of(line, number)?);
            }
            continue;
        };
        // A block without an end reaches to the next one.
        let mut block = Zeroizing::new(String::with_capacity(text.len() + 1));
        block.push_str(line);
        block.push('\n');
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with("-----BEGIN ")) {
            block.push_str(line);
            block.push('\n');
            if line.starts_with("-----END ") {
                break;
            }
        }
        match label {
            "AGE ENCRYPTED FILE" => {
                read_lines(&self::text(&unlock(block.as_bytes(), passphrases)?)?, keys)?;
            }
            "OPENSSH PRIVATE KEY" | "RSA PRIVATE KEY" => keys.push(parse_ssh(&block, passphrases)?),
            "PRIVATE KEY" | "ENCRYPTED PRIVATE KEY" | "EC PRIVATE KEY" | "DSA PRIVATE KEY" => {
                return Err(IdentityError::OldForm);
            }
            label if label.ends_with("PUBLIC KEY") => return Err(IdentityError::PublicKey),
            _ => return Err(IdentityError::NotAKey { line: number }),
        }
    }
    Ok(())
}

fn is_ssh_public(line: &str) -> bool {
    ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|kind| line.starts_with(kind))
}

/// Reads the lines of an age identity file.
fn read_lines(text: &str, keys: &mut Keys) -> Result<(), IdentityError> {
    for (number, line) in (1..).zip(text.lines()) {
        keys.extend(key_of(line.trim(), number)?);
    }
    Ok(())
}

/// Reads a line of an age identity file; `None` if it is blank or a comment.
fn key_of(line: &str, number: usize) -> Result<Option<Box<dyn age::Identity + Send + Sync>>, IdentityError> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    match line.parse::<age::x25519::Identity>() {
        Ok(key) => Ok(Some(Box::new(key))),
        Err(_) => Err(line_fault(line, number)),
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
fn unlock(content: &[u8], passphrases: &mut Passphrases<'_>) -> Result<Zeroizing<Vec<u8>>, IdentityError> {
    let decryptor = || {
        let reader = age::armor::ArmoredReader::new(content);
        age::Decryptor::new_buffered(reader).map_err(|_| IdentityError::Damaged)
    };
    if !decryptor()?.is_scrypt() {
        return Err(IdentityError::Unsupported {
            kind: "encrypted to another key".to_owned(),
        });
    }
    passphrases.open(|passphrase| {
        let mut passphrase = age::scrypt::Identity::new(passphrase);
        passphrase.set_max_work_factor(WORK_MOST);
        let reader = decryptor()?
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
    })
}

/// Reads one OpenSSH private key, from its first line to its last.
fn parse_ssh(
    block: &str,
    passphrases: &mut Passphrases<'_>,
) -> Result<Box<dyn age::Identity + Send + Sync>, IdentityError> {
    let mut clean = Zeroizing::new(String::with_capacity(block.len() + 1));
    let mut encoded = Zeroizing::new(String::with_capacity(block.len()));
    let lines = block.lines();
    for line in lines.filter(|line| !line.is_empty() || block.contains("DEK-Info")) {
        clean.push_str(line);
        clean.push('\n');
        if !line.starts_with("-----") {
            encoded.push_str(line);
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
        age::ssh::Identity::Encrypted(key) => passphrases.open(|passphrase| {
            key.decrypt(passphrase)
                .map_err(|_| IdentityError::WrongPassphrase)
        })?,
        age::ssh::Identity::Unsupported(kind) => return Err(unsupported(kind)),
    };
    Ok(Box::new(age::ssh::Identity::Unencrypted(key)))
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

//! The public keys a bundle is encrypted to.

use std::fmt;

use age::ssh::ParseRecipientKeyError;

use crate::wire;

/// More would make the header larger than `open` accepts.
const MOST: usize = 32;
/// Number of characters of a text that an error shows.
const SHOWN: usize = 64;

/// Public keys to encrypt to.
pub struct Recipients(Vec<Box<dyn age::Recipient + Send + Sync>>);

impl fmt::Debug for Recipients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recipients({})", self.0.len())
    }
}

/// Reason why the recipients cannot be used. `number` counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipientError {
    /// The list is empty.
    #[error("no recipient is given, so nothing could ever be opened again")]
    Empty,
    /// The list is too long.
    #[error("there are more than {MOST} recipients")]
    TooMany,
    /// A private key was given. The text is never shown.
    #[error("recipient {number} is a private key; give the public key that belongs to it")]
    PrivateKey {
        /// Its place in the list.
        number: usize,
    },
    /// The text is nothing known. It is not shown since it could be a part of a private key.
    #[error("recipient {number} is not a public key; one starts with `age1`, `ssh-ed25519` or `ssh-rsa`")]
    Unknown {
        /// Its place in the list.
        number: usize,
    },
    /// The key has a type that age cannot encrypt to here.
    #[error("recipient {number} is of the type {kind}, which is not supported")]
    Unsupported {
        /// Its place in the list.
        number: usize,
        /// The type, as the key states it.
        kind: String,
    },
    /// The text looks like a public key but is not a valid one.
    #[error("recipient {number} (`{text}`) cannot be used: {why}")]
    Invalid {
        /// Its place in the list.
        number: usize,
        /// The start of the text.
        text: String,
        /// Description of the problem.
        why: &'static str,
    },
    /// A bundle is post-quantum safe only if all its recipients are, so age refuses a mixture.
    #[error("post-quantum recipients (`age1tagpq1…`) cannot be mixed with others")]
    Mixed,
}

/// Problem with one text.
enum Fault {
    PrivateKey,
    Unknown,
    Unsupported(String),
    Invalid(&'static str),
}

type Parsed = Result<Box<dyn age::Recipient + Send + Sync>, Fault>;

impl Recipients {
    /// Parses `age1…`, `age1tag1…`, `age1tagpq1…`, `ssh-ed25519 …` and `ssh-rsa …`.
    ///
    /// The two tag types can be opened only by the device that holds the key, not by [`crate::open`].
    ///
    /// # Errors
    /// [`RecipientError`].
    pub fn parse(texts: &[String]) -> Result<Self, RecipientError> {
        if texts.is_empty() {
            return Err(RecipientError::Empty);
        }
        if texts.len() > MOST {
            return Err(RecipientError::TooMany);
        }
        let mut parsed = Vec::with_capacity(texts.len());
        for (number, text) in (1..).zip(texts) {
            let text = text.trim();
            parsed.push(parse_one(text).map_err(|fault| match fault {
                Fault::PrivateKey => RecipientError::PrivateKey { number },
                Fault::Unknown => RecipientError::Unknown { number },
                Fault::Unsupported(kind) => RecipientError::Unsupported { number, kind },
                Fault::Invalid(why) => RecipientError::Invalid {
                    number,
                    text: shortened(text),
                    why,
                },
            })?);
        }
        let safe = texts.iter().filter(|text| is_post_quantum(text.trim())).count();
        if safe != 0 && safe != texts.len() {
            return Err(RecipientError::Mixed);
        }
        Ok(Self(parsed))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn age::Recipient> {
        self.0.iter().map(|recipient| {
            let recipient: &dyn age::Recipient = recipient.as_ref();
            recipient
        })
    }
}

fn is_post_quantum(text: &str) -> bool {
    text.starts_with("age1tagpq1")
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// Returns true if a private key is anywhere in the text, so that no part of it is shown.
pub(crate) fn holds_private_key(text: &str) -> bool {
    let upper = text.to_uppercase();
    let signs = ["AGE-SECRET-KEY", "AGE-PLUGIN-", "PRIVATE KEY"];
    // The last one is how the content of an OpenSSH private key starts.
    signs.iter().any(|sign| upper.contains(sign)) || text.contains("b3BlbnNzaC1rZXk")
}

fn parse_one(text: &str) -> Parsed {
    if holds_private_key(text) {
        return Err(Fault::PrivateKey);
    }
    if text.starts_with("age1") {
        return parse_age(text);
    }
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or_default();
    match kind {
        "ssh-ed25519" | "ssh-rsa" => parse_ssh(kind, words.next().unwrap_or_default()),
        _ if is_ssh_type(kind) => Err(Fault::Unsupported(kind.to_owned())),
        _ => Err(Fault::Unknown),
    }
}

/// Types of SSH keys, some of which age cannot use: DSA, ECDSA, security keys, certificates.
pub(crate) fn is_ssh_type(kind: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-@.".contains(&byte);
    ["ssh-", "ecdsa-", "sk-", "rsa-"]
        .iter()
        .any(|start| kind.starts_with(start))
        && kind.len() <= 48
        && kind.bytes().all(plain)
}

fn parse_age(text: &str) -> Parsed {
    const WHY: &str = "it is not complete, or mistyped";
    // What stands before the last `1` is the type.
    let kind = text.rsplit_once('1').map_or(text, |(kind, _)| kind);
    match kind {
        "age" => {
            let key: age::x25519::Recipient = text.parse().map_err(|_| Fault::Invalid(WHY))?;
            if wire::has_low_order(text) {
                return Err(Fault::Invalid("it is a weak key that would protect nothing"));
            }
            Ok(Box::new(key))
        }
        "age1tag" => Ok(Box::new(
            text.parse::<age::tag::Recipient>()
                .map_err(|_| Fault::Invalid(WHY))?,
        )),
        "age1tagpq" => Ok(Box::new(
            text.parse::<age::tagpq::Recipient>()
                .map_err(|_| Fault::Invalid(WHY))?,
        )),
        "age1pq" => Err(Fault::Unsupported("age1pq (post-quantum)".to_owned())),
        _ => match kind.strip_prefix("age1") {
            Some(name) if is_plugin_name(name) => Err(Fault::Unsupported(format!("age plugin {name}"))),
            _ => Err(Fault::Invalid(WHY)),
        },
    }
}

fn is_plugin_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte);
    !name.is_empty() && name.len() <= 32 && name.bytes().all(plain)
}

fn parse_ssh(kind: &str, encoded: &str) -> Parsed {
    const WHY: &str = "it is not complete, or mistyped";
    let blob = wire::base64(encoded).ok_or(Fault::Invalid(WHY))?;
    let numbers = if kind == "ssh-rsa" { 2 } else { 1 };
    if !wire::public_key_is_sound(&blob, kind, numbers) {
        return Err(Fault::Invalid(WHY));
    }
    let key: age::ssh::Recipient = format!("{kind} {encoded}").parse().map_err(|error| {
        Fault::Invalid(match error {
            ParseRecipientKeyError::RsaModulusTooLarge => "an RSA key may have at most 4096 bits",
            ParseRecipientKeyError::RsaModulusTooSmall => "an RSA key needs at least 2048 bits",
            _ => WHY,
        })
    })?;
    match &key {
        age::ssh::Recipient::SshEd25519(_, point) if point.is_small_order() => {
            Err(Fault::Invalid("it is a weak key that would protect nothing"))
        }
        _ => Ok(Box::new(key)),
    }
}

//! `--identity`: the operator's private key, read once and kept in memory alone.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read as _};

use crate::cli::args::Unlock;
use crate::cli::context::Context;
use crate::config::settle_path;
use crate::recovery::RecoveryError;
use crate::store::encryption::Identities;

/// More is no key.
const LARGEST: u64 = 1 << 20;

/// The keys in the file that was named.
pub(super) fn identities(
    context: &Context<'_>,
    unlock: &Unlock,
) -> Result<Option<Identities>, RecoveryError> {
    let Some(file) = &unlock.identity else {
        return Ok(None);
    };
    let path = settle_path(context.environment, file.as_ref());
    let read = || -> io::Result<Vec<u8>> {
        let file = File::open(&path)?;
        let mut content = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut content)?;
        Ok(content)
    };
    let refused = |why: String| RecoveryError::Identity {
        file: path.clone(),
        why,
        needs_passphrase: false,
    };
    let content = read().map_err(|error| refused(format!("it cannot be read: {error}")))?;
    if content.len() as u64 > LARGEST {
        return Err(refused("it is too large to be a private key".to_owned()));
    }
    let is_withheld = Cell::new(false);
    let ask = || {
        let question = format!("Passphrase of {}", path.display());
        let answer = context.terminal.ask_secret(&question, &context.interrupts);
        // No key is locked by an empty passphrase, so an empty answer is a refusal to give one.
        let given = answer.filter(|answer| !answer.is_empty());
        is_withheld.set(given.is_none() && context.terminal.can_ask());
        given
    };
    Identities::parse(&content, &ask)
        .map(Some)
        .map_err(|error| match error.needs_passphrase() {
            true if is_withheld.get() => RecoveryError::PassphraseWithheld,
            needs_passphrase => RecoveryError::Identity {
                file: path.clone(),
                why: error.to_string(),
                needs_passphrase,
            },
        })
}

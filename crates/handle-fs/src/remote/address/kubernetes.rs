//! Addresses in a cluster: `[CONTEXT/]NAMESPACE/NAME[:CONTAINER]`. A path may follow, so it must be plain where the address ends: the
//! word with a `:` names the pod or the claim, and what is written down always has one, with nothing behind it when no container is
//! named. A context may have any letters; those that would end it are written `%2F`.

use std::fmt;

/// A pod or a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    /// The context of `kubectl`; none: the one that is current, or the cluster that this program runs in.
    pub context: Option<String>,
    /// The namespace.
    pub namespace: String,
    /// The pod or the claim.
    pub name: String,
    /// The container; of a claim the snapshot of it that is meant. Empty: the one that `kubectl` takes, the claim itself. `None`: no `:`
    /// was written, and the first word may yet be a context.
    pub container: Option<String>,
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(context) = &self.context {
            for byte in context.bytes() {
                match is_plain(byte) {
                    true => write!(f, "{}", char::from(byte))?,
                    false => write!(f, "%{byte:02X}")?,
                }
            }
            f.write_str("/")?;
        }
        write!(f, "{}/{}", self.namespace, self.name)?;
        self.container
            .as_ref()
            .map_or(Ok(()), |container| write!(f, ":{container}"))
    }
}

impl Spot {
    /// A pod, and what stands behind it.
    pub(super) fn of_pod(text: &[u8]) -> Option<(Self, &[u8])> {
        if let Some(found) = Self::marked(text) {
            return Some(found);
        }
        let (one, rest) = first(text)?;
        let (two, rest) = next(rest)?;
        if is_label(one, "-") {
            return Some((Self::plain(None, one, two, None)?, rest));
        }
        // No namespace is called so.
        let (three, rest) = next(rest)?;
        Some((Self::plain(Some(one), two, three, Some(String::new()))?, rest))
    }

    /// A claim, and what stands behind it.
    pub(super) fn of_claim(text: &[u8]) -> Option<(Self, &[u8])> {
        if let Some((spot, rest)) = Self::marked(text) {
            return Some((spot, rest));
        }
        let (one, rest) = first(text)?;
        let (two, rest) = next(rest)?;
        let own = Some(String::new());
        match next(rest).filter(|(three, _)| !three.is_empty()) {
            Some((three, rest)) => Some((Self::plain(Some(one), two, three, own)?, rest)),
            None => Some((Self::plain(None, one, two, own)?, b"")),
        }
    }

    /// One whose name has a `:`, as the second or the third word.
    fn marked(text: &[u8]) -> Option<(Self, &[u8])> {
        let (one, rest) = first(text).filter(|(one, _)| !one.is_empty())?;
        let (two, rest) = next(rest)?;
        let cut = |word: &str| {
            let (name, container) = word.split_once(':')?;
            Some((name.to_owned(), container.to_owned()))
        };
        let (context, namespace, (name, container), rest) = match cut(two) {
            Some(marked) => (None, one, marked, rest),
            None => {
                let (three, rest) = next(rest)?;
                (Some(one), two, cut(three)?, rest)
            }
        };
        if !container.is_empty() && !is_label(&container, "-") {
            return None;
        }
        Some((Self::plain(context, namespace, &name, Some(container))?, rest))
    }

    /// Of a claim: the snapshot of it that is meant, and not the claim itself.
    #[must_use]
    pub fn snapshot(&self) -> Option<&str> {
        self.container.as_deref().filter(|name| !name.is_empty())
    }

    /// The same claim without a snapshot.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self {
            container: Some(String::new()),
            ..self.clone()
        }
    }

    /// The same claim as this snapshot has it.
    #[must_use]
    pub fn as_of(&self, snapshot: &str) -> Self {
        Self {
            container: Some(snapshot.to_owned()),
            ..self.clone()
        }
    }

    fn plain(context: Option<&str>, namespace: &str, name: &str, container: Option<String>) -> Option<Self> {
        let context = match context {
            Some(context) => Some(decoded(context)?),
            None => None,
        };
        Self::new(context, namespace, name, container)
    }

    /// One of these names; `None` when one of them cannot be the name of such a thing.
    #[must_use]
    pub fn new(
        context: Option<String>,
        namespace: &str,
        name: &str,
        container: Option<String>,
    ) -> Option<Self> {
        (is_label(namespace, "-") && is_label(name, "-.")).then(|| Self {
            context,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            container,
        })
    }
}

/// The word that a text begins with, and the rest with the `/` that it begins with.
fn first(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end)?;
    Some((std::str::from_utf8(word).ok()?, rest))
}

/// The same behind a `/`.
fn next(text: &[u8]) -> Option<(&str, &[u8])> {
    first(text.strip_prefix(b"/")?)
}

/// Names in a cluster are those of DNS, in small letters.
fn is_label(text: &str, more: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253 && text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || more.contains(c))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._-@".contains(&byte)
}

/// A context as `kubectl` calls it.
fn decoded(text: &str) -> Option<String> {
    let mut done = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, more @ ..] = rest {
        rest = more;
        match byte {
            b'%' => {
                let (digits, more) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                done.push(u8::from_str_radix(digits, 16).ok()?);
                rest = more;
            }
            byte if is_plain(*byte) => done.push(*byte),
            _ => return None,
        }
    }
    let context = String::from_utf8(done).ok()?;
    // The letters that it was written with are one form of many: what is written down has one.
    (!context.is_empty() && !context.contains(char::is_control)).then_some(context)
}

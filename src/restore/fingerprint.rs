//! A digest of the plan that was shown: it proves that the confirmed plan is the one that ran.

use super::plan::Action;
use super::proposal::Proposal;
use crate::contract::PrivateFiles;
use crate::model::{AsideAct, Digest, Entry, EntryKind};

impl Proposal {
    /// BLAKE3 of what is done to which path, from which state to which: type, bytes, mode, owner, target, attributes and link
    /// group. Times and inodes do not count, and of private files not their bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut out = Vec::new();
        part(&mut out, self.target.id.as_str().as_bytes());
        for mount in &self.mounts {
            let coverage = &mount.request.coverage;
            part(&mut out, coverage.label.as_bytes());
            part(&mut out, &coverage.root.0);
            number(&mut out, mount.plan.steps.len() as u64);
            let private = PrivateFiles::of(coverage);
            for step in &mount.plan.steps {
                let path = &step.change.path;
                out.push(match step.action {
                    Action::Create => 1,
                    Action::Replace => 2,
                    Action::Delete => 3,
                    Action::Metadata => 4,
                });
                out.push(u8::from(step.overrode));
                part(&mut out, path.as_bytes());
                for side in [&step.change.from, &step.change.to] {
                    state(&mut out, side.as_ref(), private.holds(path));
                }
            }
            number(&mut out, mount.aside.len() as u64);
            for step in &mount.aside {
                out.push(match step.act {
                    AsideAct::Away => 1,
                    AsideAct::Back => 2,
                    AsideAct::Exchanged => 3,
                });
                part(&mut out, step.path.as_bytes());
            }
        }
        Digest::of(&out)
    }
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn part(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn state(out: &mut Vec<u8>, entry: Option<&Entry>, is_private: bool) {
    let Some(entry) = entry else {
        return out.push(0);
    };
    match &entry.kind {
        EntryKind::File(content) => {
            out.push(1);
            if !is_private {
                part(out, &content.digest.0);
            }
        }
        EntryKind::Directory => out.push(2),
        EntryKind::Symlink(target) => {
            out.push(3);
            part(out, target);
        }
        EntryKind::Fifo => out.push(4),
        EntryKind::Socket => out.push(5),
        EntryKind::CharDevice(major, minor) | EntryKind::BlockDevice(major, minor) => {
            out.push(if matches!(entry.kind, EntryKind::CharDevice(..)) {
                6
            } else {
                7
            });
            number(out, u64::from(*major));
            number(out, u64::from(*minor));
        }
    }
    for value in [entry.mode, entry.uid, entry.gid, entry.flags.bits()] {
        number(out, u64::from(value));
    }
    number(out, entry.xattrs.len() as u64);
    for xattr in &entry.xattrs {
        part(out, &xattr.name);
        part(out, &xattr.value);
    }
    part(out, entry.link.as_ref().map_or(b"", |link| link.as_bytes()));
}

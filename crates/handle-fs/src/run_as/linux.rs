//! Threads of Linux have a user of their own.

use std::io;

use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// User, group and groups to go back to; `None` if nothing was changed.
#[derive(Debug)]
pub(super) struct Before(Option<(Uid, Gid, Vec<Gid>)>);

pub(super) fn become_user(uid: u32, gid: u32) -> io::Result<Before> {
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    let before = (geteuid(), getegid());
    if before == (uid, gid) {
        return Ok(Before(None));
    }
    let groups = getgroups()?;
    set_thread_groups(&[gid])?;
    // Made before the rest is done: dropped on the way out it puts back what was changed.
    let acting = Before(Some((before.0, before.1, groups)));
    set_thread_res_gid(None::<Gid>, gid, before.1)?;
    // The user last: without root's rights nothing more could be changed. Only the saved one leads back.
    set_thread_res_uid(None::<Uid>, uid, before.0)?;
    Ok(acting)
}

impl Drop for Before {
    fn drop(&mut self) {
        let Some((uid, gid, groups)) = &self.0 else {
            return;
        };
        // The kernel lets the saved user back in. Should it not, this thread stays the lesser one and is refused.
        let _ = set_thread_res_uid(None::<Uid>, *uid, None::<Uid>);
        let _ = set_thread_res_gid(None::<Gid>, *gid, None::<Gid>);
        let _ = set_thread_groups(groups);
    }
}

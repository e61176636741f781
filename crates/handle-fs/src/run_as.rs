//! Acting as another user for a while: what root does in a directory of the operator it does with the operator's rights.

use std::io;
use std::marker::PhantomData;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "run_as/linux.rs"]
mod system;
#[cfg(any(feature = "portable", not(target_os = "linux")))]
#[path = "run_as/portable.rs"]
mod system;

/// This thread, and those that it starts meanwhile, act as another user until this is dropped.
#[derive(Debug)]
#[must_use = "the thread acts as itself again when this is dropped"]
pub struct ActingAs {
    _before: system::Before,
    /// Dropped on another thread it would leave this one as it is.
    _here: PhantomData<*const ()>,
}

/// Lets this thread act as user `uid` with the group `gid` and no other one. What it makes belongs to them, and a link
/// leads it nowhere where they could not go: no check of a path could be as tight, for a path can change after the check.
///
/// # Errors
/// The system's error: only root may do it. `Unsupported` where no thread has a user of its own (macOS).
pub fn act_as(uid: u32, gid: u32) -> io::Result<ActingAs> {
    Ok(ActingAs {
        _before: system::become_user(uid, gid)?,
        _here: PhantomData,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::act_as;
    use crate::{is_privileged, own_groups, own_ids};

    const SOMEBODY: u32 = 4_000_321;

    #[test]
    fn what_is_made_meanwhile_is_theirs_and_what_is_closed_to_them_stays_closed() {
        let before = (own_ids(), own_groups());
        // Only Linux gives a thread a user of its own.
        let has_users = cfg!(all(target_os = "linux", not(feature = "portable")));
        if !is_privileged() || !has_users {
            assert!(act_as(SOMEBODY, SOMEBODY).is_err());
            assert_eq!((own_ids(), own_groups()), before);
            return;
        }
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("secret"), "x").unwrap();
        fs::set_permissions(place.path().join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let acting = act_as(SOMEBODY, SOMEBODY).unwrap();
        assert_eq!(own_ids(), (SOMEBODY, SOMEBODY));
        assert_eq!(own_groups(), [SOMEBODY, SOMEBODY]);
        let nested = act_as(SOMEBODY, SOMEBODY).unwrap();
        drop(nested);
        fs::write(place.path().join("theirs"), "x").unwrap();
        assert!(fs::read(place.path().join("secret")).is_err());
        let started = std::thread::scope(|scope| scope.spawn(own_ids).join()).unwrap();
        assert_eq!(started, (SOMEBODY, SOMEBODY));
        drop(acting);
        assert_eq!((own_ids(), own_groups()), before);
        let meta = fs::metadata(place.path().join("theirs")).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (SOMEBODY, SOMEBODY));
    }

    #[test]
    fn other_threads_stay_what_they_are() {
        let before = own_ids();
        let (begin, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let acting = act_as(SOMEBODY, SOMEBODY);
                begin.send(()).unwrap();
                let _ = ended.recv();
                drop(acting);
            });
            begun.recv().unwrap();
            assert_eq!(own_ids(), before);
            drop(end);
        });
    }
}

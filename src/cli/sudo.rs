//! Home directory for root under `sudo`: the operator's, whose sessions are meant.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Adapts root's environment to the user who called `sudo`. `home_of` looks up the home of a user.
///
/// HOME may be root's or the operator's, depending on how `sudo` is set up. If a jackin home is named that is not the
/// operator's, it is root's own, and the environment stays as it is.
pub(super) fn settle(environment: Environment, home_of: impl FnOnce(u32) -> Option<PathBuf>) -> Environment {
    let Some(caller) = environment.sudo_caller() else {
        return environment;
    };
    let is_theirs = |path: &Path| owner(path) == Some(caller.uid);
    let named = environment.get("JACKIN_HOME_DIR").is_some();
    if named {
        let nearest = environment.jackin_home();
        if !nearest.is_some_and(|home| home.ancestors().find(|path| path.exists()).is_some_and(is_theirs)) {
            return environment;
        }
    }
    let kept = environment.home.clone().filter(|home| is_theirs(home));
    match kept.or_else(|| home_of(caller.uid)) {
        None if !named => Environment {
            homeless: Some(caller.uid),
            ..environment
        },
        home => Environment {
            home: home.or_else(|| environment.home.clone()),
            operator: Some(caller),
            ..environment
        },
    }
}

fn owner(path: &Path) -> Option<u32> {
    path.metadata().ok().map(|meta| meta.uid())
}

#[cfg(test)]
mod tests {
    use super::{owner, settle};
    use crate::environment::{Environment, Operator};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    fn environment(home: &str, variables: &[(&str, String)]) -> Environment {
        let variables = variables
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Environment {
            variables: variables.collect(),
            home: Some(PathBuf::from(home)),
            current: PathBuf::from("/"),
            ..Environment::default()
        }
    }

    fn called_by(uid: u32) -> Vec<(&'static str, String)> {
        vec![("SUDO_UID", uid.to_string()), ("SUDO_GID", "7".to_owned())]
    }

    fn at_home(_: u32) -> Option<PathBuf> {
        Some(PathBuf::from("/home/ann"))
    }

    #[test]
    fn the_operators_home_is_meant() {
        let settled = settle(environment("/", &called_by(4_000_000)), at_home);
        assert_eq!(settled.home.as_deref(), Some(Path::new("/home/ann")));
        let operator = Operator {
            uid: 4_000_000,
            gid: 7,
        };
        assert_eq!(settled.operator, Some(operator));
        assert_eq!(settled.homeless, None);
    }

    #[test]
    fn a_home_that_is_theirs_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let Some(uid) = owner(place.path()).filter(|uid| *uid != 0) else {
            // Root's own directory is nobody's who called sudo; the tests of the binary show the rest.
            return;
        };
        let home = place.path().to_str().unwrap();
        let settled = settle(environment(home, &called_by(uid)), at_home);
        assert_eq!(settled.home.as_deref(), Some(place.path()));
    }

    #[test]
    fn a_user_without_a_home_is_said() {
        let settled = settle(environment("/", &called_by(4_000_000)), |_| None);
        assert_eq!(settled.home.as_deref(), Some(Path::new("/")));
        assert_eq!((settled.operator, settled.homeless), (None, Some(4_000_000)));
    }

    #[test]
    fn a_named_home_of_somebody_else_is_roots_own_matter() {
        let mut variables = called_by(4_000_000);
        variables.push(("JACKIN_HOME_DIR", "/nowhere/at/all".to_owned()));
        let settled = settle(environment("/", &variables), at_home);
        assert_eq!(settled.home.as_deref(), Some(Path::new("/")));
        assert_eq!(settled.operator, None);
    }

    #[test]
    fn only_two_plain_numbers_name_a_caller() {
        for (uid, gid) in [
            ("0", "7"),
            ("", "7"),
            ("+5", "7"),
            ("-1", "7"),
            ("4294967295", "7"),
            ("4294967296", "7"),
            ("5", "4294967295"),
            ("5", "x"),
            ("5", ""),
        ] {
            let variables = [("SUDO_UID", uid.to_owned()), ("SUDO_GID", gid.to_owned())];
            let settled = settle(environment("/", &variables), at_home);
            assert_eq!(settled.operator, None, "{uid} {gid}");
        }
    }
}

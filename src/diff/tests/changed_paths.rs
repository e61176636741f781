//! Changes by directory, compared with a look at every one of them.

use proptest::prelude::*;

use super::path;
use crate::diff::{Change, ChangeKind, ChangedPaths};
use crate::model::RelPath;

/// Names that sort between a directory and what is in it, if bytes are compared.
fn paths() -> impl Strategy<Value = RelPath> {
    let name = prop::sample::select(vec!["a", "a-b", "a.b", "a b", "b"]);
    prop::collection::vec(name, 1..4).prop_map(|names| path(&names.join("/")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn those_within_directories_are_found(
        changed in prop::collection::vec((paths(), prop::option::of(paths())), 0..12),
        dirs in prop::collection::vec(prop_oneof![paths(), Just(RelPath::root())], 0..3),
    ) {
        let change = |(path, from_path)| Change {
            path,
            kind: ChangeKind::Renamed,
            from: None,
            to: None,
            from_path,
            has_secret_name: false,
        };
        let changes: Vec<Change> = changed.into_iter().map(change).collect();
        let is_asked = |path: &RelPath| dirs.iter().any(|dir| path.is_within(dir));
        let wanted: Vec<&Change> = changes
            .iter()
            .filter(|change| is_asked(&change.path) || change.from_path.as_ref().is_some_and(is_asked))
            .collect();
        prop_assert_eq!(ChangedPaths::of(&changes).within(&dirs), wanted);
    }
}

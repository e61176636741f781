//! Names that lead from an archive to the one that took its place.

use super::*;
use crate::store::archive_redirects;

/// Repacks replace the names while a copy is made of them.
#[test]
fn what_is_copied_of_a_name_leads_to_the_archive_that_it_is_copied_under() {
    let place = Place::new();
    let store = place.write();
    let layout = place.layout();
    let _draft = store.draft(snapshot(9)).unwrap();
    let draft = layout.draft(&snapshot(9));
    let to: Vec<ArchiveRef> = (2..4).map(|n| archive_ref(snapshot(n).archive())).collect();
    let from = snapshot(1).archive();
    archive_redirects::write(&layout, &draft, &from, &to[0]).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for into in to.iter().cycle().take(2000) {
                archive_redirects::write(&layout, &draft, &from, into).unwrap();
            }
        });
        let mut seen = 0;
        while !writer.is_finished() || seen == 0 {
            for (id, into, bytes) in store.moved_to_copy().unwrap() {
                assert_eq!(id, from);
                assert_eq!(parse_moved(&bytes, Path::new("copied")).unwrap(), into);
                seen += 1;
            }
        }
    });
}

//! Marks on the screen are restored, and nothing else; a command that jackin proposes for a path means that path.

use std::fs;

use crate::support::build::Build;
use crate::support::sandbox::Sandbox;
use crate::ui::opened;

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn what_lost_its_mark_stays_also_below_a_marked_directory() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("d/one", "1\n")
        .file("d/two", "2\n")
        .aged();
    let id = sandbox.session(&project, |project| {
        Build::at(project)
            .file("gen/junk", "junk\n")
            .file("gen/kept", "kept\n")
            .file("d/one", "agent\n")
            .file("d/two", "agent\n")
            .mode("d", 0o711);
    });
    let Some(tmux) = opened(&sandbox, &project, &id) else {
        return;
    };
    tmux.press(&["G", "Enter"]).sees("A gen/");
    // All of it, but for the second file in each directory.
    tmux.press(&["a"]).sees("6 marked");
    tmux.press(&["/"]).press(&["-l", "two"]).press(&["Enter"]);
    tmux.press(&["G", "Space"]).sees("5 marked");
    tmux.press(&["/"])
        .press(&["C-u"])
        .press(&["-l", "kept"])
        .press(&["Enter"]);
    tmux.press(&["G", "Space"]).sees("4 marked");
    let plan = tmux.press(&["r"]).sees("y  yes    Esc  no");
    assert!(!plan.contains("two") && !plan.contains("kept"), "{plan}");
    tmux.press(&["y"]).sees("Done: ");
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    assert_eq!(
        (read("d/one"), read("d/two")),
        ("1\n".to_owned(), "agent\n".to_owned())
    );
    assert_eq!(read("gen/kept"), "kept\n");
    assert!(!project.join("gen/junk").exists());
}

#[test]
fn a_command_for_a_path_that_reads_as_a_glob_means_that_path() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a", "one\n")
        .file("i.tsx", "one\n")
        .file("deep/[id].tsx", "one\n")
        .aged();
    sandbox.session(&project, |project| {
        for name in ["a", "i.tsx", "deep/[id].tsx", "*", "[id].tsx"] {
            fs::write(project.join(name), "agent\n").unwrap();
        }
    });
    let found = sandbox
        .command(["find", "--", "./[[]id].tsx"])
        .inside(&project)
        .run()
        .ok();
    found.shows(r"'./\[id].tsx'");
    let restore = |path: &str| {
        let run = sandbox.command(["restore", "--yes", path]).inside(&project).run();
        let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
        assert_eq!(
            (read("a"), read("i.tsx")),
            ("agent\n".to_owned(), "agent\n".to_owned()),
            "{run}"
        );
        run
    };
    for name in ["*", "[id].tsx"] {
        let escaped = name.replace('*', r"\*").replace('[', r"\[");
        restore(&format!("./{escaped}")).ok();
        assert!(!project.join(name).exists());
        // It is gone, and its name means no other path.
        restore(&format!("{}/{escaped}", project.display()));
        assert!(project.join("deep/[id].tsx").exists());
    }
}

//! Plans and listings of many paths: whole directories are one line, and what matters is never hidden in one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::run_tool;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

fn sh(directory: &Path, script: &str) {
    run_tool(Command::new("sh").args(["-c", script]).current_dir(directory));
}

fn lines(run: &Run) -> Vec<String> {
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A project in which a session deletes, makes, renames and edits.
fn session(sandbox: &Sandbox) -> (PathBuf, Tree, String) {
    let project = sandbox.project("many");
    let build = Build::at(&project);
    for number in 0..15 {
        build
            .file(format!("benches/b{number}"), format!("bench {number}\n"))
            .file(
                format!("old/o{number}"),
                format!("long enough to be known again {number}\n"),
            );
    }
    build
        .file("benches/run", "#!/bin/sh\n")
        .file("src/main.rs", "fn main() {}\n")
        .file("kept", "kept\n");
    sh(&project, "chmod 755 benches/run");
    build.aged();
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        sh(
            project,
            "rm -r benches; mv old new; echo more >> src/main.rs; mkdir made",
        );
        sh(
            project,
            "for n in 1 2 3 4 5 6; do echo $n > made/m$n; done; echo TOKEN=x > made/.env",
        );
        sh(
            project,
            "mkdir made/.claude; echo '{}' > made/.claude/settings.json",
        );
    });
    (project, before, id)
}

#[test]
fn whole_directories_are_one_line_and_what_matters_is_its_own() {
    let sandbox = Sandbox::new();
    let (_, _, id) = session(&sandbox);
    let run = sandbox.jackin(["diff", &id]).ok();
    assert_eq!(
        lines(&run),
        [
            "D benches/ (15 other files)",
            "D benches/run",
            "A made/ (6 other files, 1 directory)",
            "A made/.claude/settings.json",
            "A made/.env",
            "R old/ -> new/ (15 files)",
            "M src/main.rs",
        ],
        "{run}"
    );
    run.shows(&format!("details: jackin recovery diff {id} --all"));
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    for line in [
        "  create    benches/ (15 other files)",
        "  create    benches/run",
        "  delete    made/ (6 other files, 1 directory)",
        "  delete    made/.env",
        "  move back new/ -> old/ (15 files)",
        "  replace   src/main.rs",
    ] {
        assert!(lines(&plan).contains(&line.to_owned()), "{line}\n{plan}");
    }
    plan.shows(&format!("restore {id} --dry-run --all"));
}

#[test]
fn all_and_forms_for_programs_list_every_path() {
    let sandbox = Sandbox::new();
    let (_, _, id) = session(&sandbox);
    let changes = sandbox.diff(&id, &[]).all.len();
    for flags in [&["--all"][..], &["--name-status"], &["--name-only"]] {
        let run = sandbox.jackin([&["diff", &id], flags].concat()).ok();
        assert_eq!(lines(&run).len(), changes, "{flags:?}\n{run}");
        assert!(!run.text().contains("details:"), "{run}");
    }
    let plan = sandbox.jackin(["restore", &id, "--dry-run", "--all"]).ok();
    let steps = lines(&plan)
        .into_iter()
        .filter(|line| line.starts_with("  ") && !line.contains(".jackin-"));
    assert_eq!(steps.count(), changes, "{plan}");
    // Whatever people see, programs get everything.
    assert_eq!(
        sandbox.plan(&id, &[]).document["applied"]
            .as_array()
            .unwrap()
            .len(),
        changes
    );
    sandbox.restore(&id, &[]);
    let folded = lines(&sandbox.jackin(["undo", &id, "--dry-run"]).ok());
    let all = lines(&sandbox.jackin(["undo", &id, "--dry-run", "--all"]).ok());
    assert!(
        folded.len() < all.len() && all.len() > changes,
        "{folded:?}\n{all:?}"
    );
}

#[test]
fn an_end_of_a_session_shows_folds() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("ended");
    for number in 0..40 {
        Build::at(&project).file(format!("gone/g{number}"), "g\n");
    }
    let script = "rm -r gone; i=0; while [ $i -lt 30 ]; do echo > n$i; i=$((i+1)); done; \
        echo > zz; chmod +x zz";
    let run = sandbox
        .launching(&project, &["sh", "-c", script])
        .inside(&project)
        .run()
        .ok();
    // The program comes before the many, though its name is the last.
    run.has("D gone/ (40 files)").has("A zz").has("and 20 more");
}

#[test]
fn later_edits_are_never_in_a_fold() {
    let sandbox = Sandbox::new();
    let (project, before, id) = session(&sandbox);
    Build::at(&project)
        .file("made/m1", "later\n")
        .file("made/later", "later\n")
        .file("kept", "later\n");
    let diff = sandbox.jackin(["diff", &id]).ok();
    assert!(
        lines(&diff).contains(&"A! made/m1  edited since".to_owned()),
        "{diff}"
    );
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
    let all = lines(&plan);
    let conflict = all
        .iter()
        .position(|line| line.contains("made/m1: changed after"))
        .unwrap();
    let bulk = all.iter().position(|line| line.contains("benches/ (15")).unwrap();
    assert!(conflict < bulk, "{plan}");
    let words = ["--overwrite-later-edits", "--delete-later-files", "--dry-run"];
    let plan = sandbox.jackin([&["restore", &id], &words[..]].concat()).ok();
    for line in [
        "  delete    made/later  discards a later edit",
        "  delete    made/m1  discards a later edit",
        "  replace   kept  discards a later edit",
    ] {
        assert!(lines(&plan).contains(&line.to_owned()), "{line}\n{plan}");
    }
    sandbox.restore(&id, &words[..2]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_directory_that_was_deleted_later_is_one_line_with_its_note() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let files: Vec<String> = (0..30).map(|n| format!("d/e/f{n}")).collect();
    for file in &files {
        Build::at(&project).file(file, "text\n");
    }
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo more >> d/e/f0");
    sh(&project, "rm -r d");
    let words = ["restore", &id, "--overwrite-later-edits"];
    let plan = sandbox.jackin([&words[..], &["--dry-run"]].concat()).ok();
    let whole = "  create    d/ (30 files, 1 directory)  discards later deletions";
    assert!(lines(&plan).contains(&whole.to_owned()), "{plan}");
    plan.hides("f0").hides("a later edit");
    let all = sandbox
        .jackin([&words[..], &["--dry-run", "--all"]].concat())
        .ok();
    all.shows("create    d/e/f1  discards a later edit");
    sandbox.restore(&id, &words[2..]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_git_directory_is_one_line_beside_its_hooks() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("repository");
    Build::at(&project).file("a", "a\n");
    let git = "git -c user.name=a -c user.email=a@example.com";
    sh(
        &project,
        &format!("{git} init -q; {git} add a; {git} commit -qm one"),
    );
    let id = sandbox.session(&project, |project| {
        sh(
            project,
            &format!("for n in 1 2 3 4; do echo $n > a; {git} commit -qam $n; done"),
        );
        sh(
            project,
            "echo '#!/bin/sh' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        );
    });
    let run = sandbox.jackin(["diff", &id]).ok();
    let all = lines(&run);
    assert!(all.contains(&"A .git/hooks/pre-commit".to_owned()), "{run}");
    let fold = all.iter().find(|line| line.starts_with("M .git/ (")).unwrap();
    assert!(fold.contains("other paths: ") && fold.contains(" added"), "{run}");
    assert!(run.text().contains("4 commits made:"), "{run}");
    assert_eq!(
        all.iter().filter(|line| line.contains(".git/")).count(),
        2,
        "{run}"
    );
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    assert!(
        lines(&plan)
            .iter()
            .any(|line| line.starts_with("  restore   .git/ (")),
        "{plan}"
    );
    assert!(
        lines(&plan).contains(&"  delete    .git/hooks/pre-commit".to_owned()),
        "{plan}"
    );
}

#[test]
fn ten_thousand_paths_are_sixty_lines_and_all_of_them_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("large");
    for directory in 0..40 {
        let directory = project.join(format!("d{directory:02}"));
        fs::create_dir(&directory).unwrap();
        for number in 0..250 {
            fs::write(directory.join(format!("f{number}")), format!("{number}\n")).unwrap();
        }
    }
    let before = Tree::read(&project);
    // Half of the directories stay, without their files.
    let id = sandbox.session(&project, |project| {
        sh(project, "rm -r d0* d1*; rm d2*/* d3*/*");
    });
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    assert!(lines(&plan).len() <= 60, "{plan}");
    plan.has("  create    d00/ (250 files)")
        .has("  create    250 files in d39/")
        .has("10,020 paths: 10,020 to create.");
    assert!(lines(&sandbox.jackin(["diff", &id]).ok()).len() <= 60);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_quiet_restore_prints_its_result_and_what_stays() {
    let sandbox = Sandbox::new();
    let (project, _, id) = session(&sandbox);
    Build::at(&project).file("made/m1", "later\n");
    let run = sandbox.jackin(["restore", &id, "--yes", "-q"]).code(6);
    assert_eq!(lines(&run).len(), 1, "{run}");
    run.has("Done: ").has("made/m1: changed after the session");
    assert!(!run.text().contains("Temporary directory"), "{run}");
    let run = sandbox.jackin(["undo", &id, "--yes", "-q"]).ok();
    assert_eq!(lines(&run).len(), 1, "{run}");
}

/// A terminal in which `words` wait at their question.
fn asked(sandbox: &Sandbox, project: &Path, size: (u16, u16), words: &str, more: &[&str]) -> Option<Tmux> {
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    Tmux::start(sandbox, project, size, &script, more)
}

#[test]
fn the_question_shows_the_diff_the_plan_and_the_letters() {
    let sandbox = Sandbox::new();
    let (project, before, id) = session(&sandbox);
    let damaged = Tree::read(&project);
    let words = format!("restore {id}");
    let Some(tmux) = asked(&sandbox, &project, (100, 90), &words, &["PAGER=cat"]) else {
        return;
    };
    let seen = tmux.asks("[y/N/?]");
    assert!(
        seen.contains("benches/ (15 other files)") && !seen.contains("benches/b14"),
        "{seen}"
    );
    tmux.press(&["?", "Enter"]);
    let seen = tmux.asks("choose some of the paths");
    assert!(seen.contains("d  show the lines that would be undone"), "{seen}");
    tmux.press(&["p", "Enter"]);
    tmux.asks("benches/b14");
    tmux.press(&["d", "Enter"]);
    tmux.asks("+more");
    assert_untouched(&damaged, &Tree::read(&project));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_long_plan_is_paged_before_the_question() {
    let sandbox = Sandbox::new();
    let (project, before, id) = session(&sandbox);
    let paged = sandbox.scratch("paged");
    let pager = format!("PAGER=tee '{}'", paged.display());
    let words = format!("restore {id} --all");
    let Some(tmux) = asked(&sandbox, &project, (80, 24), &words, &[&pager]) else {
        return;
    };
    let seen = tmux.asks("[y/N/?]");
    assert!(
        seen.contains("paths: "),
        "the number stands above the question:\n{seen}"
    );
    let text = fs::read_to_string(&paged).unwrap();
    assert!(text.contains("benches/b14") && !text.contains("[y/N"), "{text}");
    // No lock is held meanwhile, and Ctrl-C leaves nothing.
    sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    let damaged = Tree::read(&project);
    tmux.press(&["C-c"]);
    tmux.sees("not confirmed");
    assert_untouched(&damaged, &Tree::read(&project));
    fs::remove_file(&paged).unwrap();
    let tmux = asked(
        &sandbox,
        &project,
        (80, 24),
        &format!("{words} --no-pager"),
        &[&pager],
    )
    .unwrap();
    tmux.asks("[y/N/?]");
    assert!(!paged.exists());
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn chosen_paths_alone_are_restored() {
    let sandbox = Sandbox::new();
    let (project, before, id) = session(&sandbox);
    let damaged = Tree::read(&project);
    let words = format!("restore {id}");
    let Some(tmux) = asked(&sandbox, &project, (100, 90), &words, &["PAGER=cat"]) else {
        return;
    };
    tmux.asks("[y/N/?]");
    // Escape and an empty choice come back to the question.
    tmux.press(&["i", "Enter"]);
    tmux.lists("Esc to cancel");
    tmux.press(&["Escape"]);
    tmux.misses("Esc to cancel");
    let seen = tmux.asks("\ncancelled\n");
    assert!(!seen.contains("Esc to cancel"), "{seen}");
    tmux.press(&["i", "Enter"]);
    tmux.lists("Esc to cancel");
    tmux.press(&["Enter"]);
    tmux.asks("nothing chosen");
    tmux.press(&["i", "Enter"]);
    let seen = tmux.lists("> [ ] create    benches/ (15 other files)");
    let list = seen.split("Esc to cancel").last().unwrap();
    assert!(!list.contains("benches/b1"), "{seen}");
    // `benches/b0` without its directory, and the last line of all.
    tmux.press(&["/", "benches/b0", "Enter"]);
    tmux.lists("> [ ]   create    benches/b0");
    tmux.press(&["Space"]);
    tmux.lists("> [x]   create    benches/b0");
    tmux.press(&["/", "Escape"]);
    tmux.lists("[-] create    benches/ (15 other files)");
    tmux.press(&["Up", "Space"]);
    tmux.lists("> [x] replace   src/main.rs");
    tmux.press(&["Enter"]);
    let seen = tmux.asks("3 paths: 2 to create, 1 to replace.");
    assert!(seen.contains("create    benches/b0"), "{seen}");
    assert_untouched(&damaged, &Tree::read(&project));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    let now = Tree::read(&project);
    assert!(now.has("benches/b0") && !now.has("benches/b1") && now.has("made/m1") && now.has("new/o1"));
    assert_eq!(
        fs::read_to_string(project.join("src/main.rs")).unwrap(),
        "fn main() {}\n"
    );
    // An undo can be narrowed as well.
    let tmux = asked(&sandbox, &project, (100, 90), "undo", &["PAGER=cat"]).unwrap();
    tmux.asks("[y/N/?]");
    tmux.press(&["i", "Enter"]);
    tmux.lists("Esc to cancel");
    tmux.press(&["Up", "Space"]);
    tmux.lists("> [x] replace   src/main.rs");
    tmux.press(&["Enter"]);
    tmux.asks("1 path: 1 to replace.");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(Tree::read(&project).has("benches/b0"));
    assert!(
        fs::read_to_string(project.join("src/main.rs"))
            .unwrap()
            .contains("more")
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_chosen_directory_and_a_chosen_fold_include_what_is_below_them() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("below");
    let build = Build::at(&project);
    build.file("d/a", "a\n").file("d/e/b", "b\n").file("z", "z\n");
    for number in 0..8 {
        build.file(format!("many/{number}"), "n\n");
    }
    build.aged();
    let id = sandbox.launch(&project, "rm -r d many z");
    let words = format!("restore {id}");
    let Some(tmux) = asked(&sandbox, &project, (80, 24), &words, &["PAGER=cat"]) else {
        return;
    };
    tmux.asks("[y/N/?]");
    tmux.press(&["i", "Enter"]);
    tmux.lists("> [ ] create    d/");
    tmux.press(&["Space"]);
    let seen = tmux.lists("4 chosen");
    assert!(
        seen.contains("  [x] create    d/e/b") && seen.contains("  [ ] create    many/ (8 files)"),
        "{seen}"
    );
    tmux.press(&["/", "many", "Enter", "Space"]);
    tmux.lists("13 chosen");
    tmux.press(&["Enter"]);
    tmux.asks("13 paths: 13 to create.");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    let now = Tree::read(&project);
    assert!(now.has("d/a") && now.has("d/e/b") && now.has("many/7") && !now.has("z"));
}

#[test]
fn an_interactive_restore_begins_with_the_list() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("listed");
    Build::at(&project).file("a", "a\n").file("b", "b\n").aged();
    let id = sandbox.launch(&project, "rm a b");
    let words = format!("restore -i {id}");
    let Some(tmux) = asked(&sandbox, &project, (80, 24), &words, &[]) else {
        return;
    };
    tmux.lists("> [ ] create    a");
    tmux.press(&["Escape"]);
    tmux.sees("code 4");
    let tmux = asked(&sandbox, &project, (80, 24), &words, &[]).unwrap();
    tmux.lists("> [ ] create    a");
    tmux.press(&["Space", "Enter"]);
    tmux.asks("[y/N/?]");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    let now = Tree::read(&project);
    assert!(now.has("a") && !now.has("b"));
    sandbox
        .jackin(["restore", "-i", &id])
        .code(4)
        .shows("not a terminal");
    assert!(!project.join("b").exists());
}

#[test]
fn a_list_to_choose_from_has_pages_and_leaves_the_terminal_clean() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("long");
    let build = Build::at(&project);
    for number in 0..40 {
        build.file(format!("f{number:02}"), "n\n");
    }
    build.aged();
    let id = sandbox.launch(&project, "for f in f*; do echo x >> $f; done");
    let words = format!("restore {id}");
    let Some(tmux) = asked(&sandbox, &project, (80, 24), &words, &["PAGER=cat"]) else {
        return;
    };
    for key in ["Escape", "C-c"] {
        tmux.asks("[y/N/?]");
        tmux.press(&["i", "Enter"]);
        tmux.lists("1-21 of 40; 0 chosen");
        tmux.press(&["NPage"]);
        let seen = tmux.lists("22-40 of 40");
        assert!(seen.contains("> [ ] replace   f21"), "{seen}");
        tmux.press(&[key]);
        let seen = tmux.misses("Esc to cancel");
        assert!(!seen.contains("[ ]"), "{key}:\n{seen}");
    }
    let seen = tmux.sees("code 4");
    assert!(seen.contains("cancelled; nothing was changed"), "{seen}");
    assert!(tmux.shows_cursor());
    assert!(!Tree::read(&project).has("new"));
}

#[test]
fn a_rename_is_chosen_as_a_pair() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("renamed");
    Build::at(&project)
        .file("a-old", "long enough to be known again\n")
        .file("z", "z\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "mv a-old a-new; rm z");
    let words = format!("restore {id}");
    let Some(tmux) = asked(&sandbox, &project, (100, 40), &words, &[]) else {
        return;
    };
    tmux.asks("[y/N/?]");
    tmux.press(&["i", "Enter"]);
    tmux.lists("> [ ] move back a-new -> a-old");
    tmux.press(&["Space", "Enter"]);
    tmux.asks("1 path: 1 to move back.");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    let now = Tree::read(&project);
    assert!(now.has("a-old") && !now.has("a-new") && !now.has("z"));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

//! `restore --merge`: takes the session's change out of files with later edits, and keeps the edits.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::Restored;
use crate::support::git::Repository;
use crate::support::kill::Dice;
use crate::support::machine::binary;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

/// Ten lines, some of them replaced.
fn lines(replaced: &[(u32, &str)]) -> String {
    let mut text = String::new();
    for number in 1..=10 {
        match replaced.iter().find(|(at, _)| *at == number) {
            Some((_, line)) => text.push_str(line),
            None => write!(text, "line {number}").unwrap(),
        }
        text.push('\n');
    }
    text
}

fn read(project: &Path, path: &str) -> String {
    fs::read_to_string(project.join(path)).unwrap()
}

#[test]
fn the_sessions_change_goes_and_later_edits_stay() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("merged");
    Build::at(&project)
        .file("apart", lines(&[]))
        .file("same", lines(&[]))
        .aged();
    let id = sandbox.launch(&project, "sed -i 's/^line 3$/agent/' apart same; chmod 600 apart");
    Build::at(&project)
        .file("apart", lines(&[(3, "agent"), (8, "mine")]))
        .file("same", lines(&[(3, "operator")]))
        .mode("apart", 0o600);
    let edited = Tree::read(&project);

    // Later edits are kept whole unless a merge is asked for.
    sandbox.plan(&id, &[]).conflicted(&["apart", "same"]);
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .code(6)
        .shows("--merge");
    let plan = sandbox.plan(&id, &["--merge"]);
    plan.touched(&["apart"]);
    plan.conflicted(&["same"]);
    let shown = sandbox.jackin(["restore", &id, "--dry-run", "--merge"]).code(6);
    shown
        .shows("merge     apart")
        .shows("later edits stay")
        .shows("1 path: 1 to merge, 1 conflict left.")
        .shows("line 3:")
        .shows("<<<<<<< yours")
        .shows("||||||| after the session")
        .shows(">>>>>>> before the session");
    assert_untouched(&edited, &Tree::read(&project));

    let restored = sandbox.restore_in_part(&id, &["--merge"]);
    restored.touched(&["apart"]);
    restored.conflicted(&["same"]);
    assert_eq!(read(&project, "apart"), lines(&[(8, "mine")]));
    // The edits were made in a private file.
    assert_eq!(Tree::read(&project).at("apart").mode, 0o600);
    assert_untouched(&edited.only("same"), &Tree::read(&project).only("same"));

    // What was merged has later edits in it still: no restore takes it for its own work, also after an undo of the undo.
    let merged = Tree::read(&project);
    let stays = |now: &Tree| {
        sandbox.plan(&id, &[]).conflicted(&["apart", "same"]);
        assert_same_tree(now, &Tree::read(&project));
    };
    stays(&merged);
    sandbox.plan(&id, &["--merge"]).touched::<&str>(&[]);
    sandbox.undo(&id).touched(&["apart"]);
    assert_same_tree(&edited, &Tree::read(&project));
    stays(&edited);
    sandbox.undo(&id).touched(&["apart"]);
    assert_same_tree(&merged, &Tree::read(&project));
    stays(&merged);
    sandbox.undo(&id).touched(&["apart"]);
    stays(&edited);
    // So it is with an edit that was discarded, and came back the long way.
    for _ in 0..2 {
        sandbox.restore(&id, &["--overwrite-later-edits"]);
        for _ in 0..3 {
            sandbox.undo(&id);
        }
        stays(&edited);
    }
}

#[test]
fn conflict_markers_are_written_only_where_both_overlap() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("marked");
    Build::at(&project).file("f", lines(&[])).aged();
    let id = sandbox.launch(&project, "sed -i 's/^line 3$/agent/; s/^line 9$/agent too/' f");
    Build::at(&project).file("f", lines(&[(3, "mine"), (9, "agent too")]));
    let edited = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--conflict-markers", "--yes"])
        .code(2);
    sandbox
        .jackin(["restore", &id, "--merge", "--overwrite-later-edits"])
        .code(2);
    let flags = ["restore", id.as_str(), "--merge", "--conflict-markers", "--yes"];
    sandbox.jackin(flags).code(6).shows("conflict markers in 1 place");
    let marked =
        "<<<<<<< yours\nmine\n||||||| after the session\nagent\n=======\nline 3\n>>>>>>> before the session";
    assert_eq!(read(&project, "f"), lines(&[(3, marked)]));
    // No markers in markers.
    let plan = sandbox.jackin(["restore", &id, "--merge", "--conflict-markers", "--dry-run"]);
    plan.code(6).shows("it has conflict markers");
    sandbox.undo(&id);
    assert_same_tree(&edited, &Tree::read(&project));
}

#[test]
fn what_is_no_text_of_one_name_is_never_merged() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("kinds");
    Build::at(&project)
        .file("binary", b"a\0b\n")
        .file("large", "x\n".repeat(5 << 20))
        .file("linked", lines(&[]))
        .hard_link("other", "linked")
        .symlink("link", "before")
        .file("mode", lines(&[]))
        .aged();
    let id = sandbox.launch(
        &project,
        "printf 'a\\0c\\n' > binary; echo agent >> large; sed -i 1d mode; chmod 600 mode; sed 1d mode > new
         cat new > linked; rm new; ln -sfn agent link",
    );
    let build = Build::at(&project);
    build
        .file("binary", b"a\0d\n")
        .file("large", "x\n".repeat(5 << 20) + "mine\n");
    build
        .file("mode", lines(&[]).split_off(7) + "mine\n")
        .mode("mode", 0o640);
    fs::write(project.join("linked"), lines(&[(9, "mine")])).unwrap();
    fs::remove_file(project.join("link")).unwrap();
    build.symlink("link", "mine");
    let edited = Tree::read(&project);
    // A command that could merge none of them is not proposed.
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).code(6);
    plan.shows("to discard later edits").hides("to merge later edits");
    let run = sandbox
        .jackin(["restore", &id, "--merge", "--conflict-markers", "--yes"])
        .code(6);
    run.shows("binary: changed after the session; not merged: binary")
        .shows("not merged: larger than")
        .shows("not merged: it has several names")
        .shows("not merged: not a regular file on all sides")
        .shows("not merged: mode, owner or attributes changed on both sides");
    assert_untouched(&edited, &Tree::read(&project));
}

/// No class of users reads a line that it could not read before: neither of the file as it is now, nor of the state that is restored, nor,
/// between markers, of the state that the session left.
#[test]
fn a_merged_file_is_as_private_as_each_text_in_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("private");
    let secret = |line: &str| lines(&[(3, line)]);
    Build::at(&project)
        .file("closed", lines(&[]))
        .file("mode-only", lines(&[]))
        .file("opened", secret("pw=BEFORE"))
        .mode("opened", 0o600)
        .file("marked", lines(&[]))
        .file("left", lines(&[]))
        .file("script", lines(&[]))
        .mode("script", 0o755)
        .aged();
    let id = sandbox.launch(
        &project,
        "sed -i 's/^line 3$/agent/' closed script; chmod 600 closed mode-only left; chmod 644 script
         sed -i 's/^pw=.*/gone/' opened; sed -i 's/^line 3$/agent/' marked; sed -i 's/^line 3$/pw=LEFT/' left",
    );
    Build::at(&project)
        .file("closed", lines(&[(3, "agent"), (8, "pw=MINE")]))
        .mode("closed", 0o600)
        .file("mode-only", lines(&[(8, "pw=MINE")]))
        .mode("mode-only", 0o600)
        .file("opened", lines(&[(3, "gone"), (8, "mine")]))
        .file("marked", lines(&[(3, "pw=MINE")]))
        .mode("marked", 0o600)
        .file("left", lines(&[(3, "mine")]))
        .file("script", lines(&[(3, "agent"), (8, "mine")]));
    let edited = Tree::read(&project);

    // The lines that the session left in a private file are not printed.
    let plan = sandbox.jackin(["restore", &id, "--merge", "--dry-run"]).code(6);
    plan.shows("line 3:").hides("pw=");

    let flags = ["restore", id.as_str(), "--merge", "--conflict-markers", "--yes"];
    let mut run = sandbox.jackin(flags).code(6);
    let reason = "changed after the session; not merged: others could read what is private";
    for path in ["mode-only", "opened", "left"] {
        run = run.shows(&format!("{path}: {reason}"));
        assert_untouched(&edited.only(path), &Tree::read(&project).only(path));
    }
    assert_eq!(read(&project, "closed"), lines(&[(8, "pw=MINE")]));
    assert!(read(&project, "marked").contains("pw=MINE\n||||||| after the session\nagent\n"));
    assert_eq!(read(&project, "script"), lines(&[(8, "mine")]));
    let now = Tree::read(&project);
    let modes = ["closed", "marked", "script"].map(|path| now.at(path).mode);
    assert_eq!(modes, [0o600, 0o600, 0o755]);
    sandbox.undo(&id);
    assert_same_tree(&edited, &Tree::read(&project));
}

#[test]
fn one_step_is_taken_out_of_what_later_steps_made() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("steps");
    Build::at(&project).file("f", lines(&[])).aged();
    let id = sandbox.launch(
        &project,
        &format!(
            "J='{} recovery'; sed -i 's/^line 2$/first/' f; $J checkpoint --name one
             sed -i 's/^line 8$/second/' f; $J checkpoint --name two",
            binary().display()
        ),
    );
    let step = ["--only-changes-of", "one"];
    sandbox.plan(&id, &step).conflicted(&["f"]);
    sandbox
        .restore(&id, &["--only-changes-of", "one", "--merge"])
        .touched(&["f"]);
    assert_eq!(read(&project, "f"), lines(&[(8, "second")]));
}

#[test]
fn a_file_without_a_change_of_the_session_is_kept_and_no_conflict() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("alone");
    Build::at(&project)
        .file("both", lines(&[]))
        .file("mine", lines(&[]))
        .file("picture", b"\0old")
        .file("reverted", lines(&[]))
        .aged();
    let id = sandbox.launch(&project, "sed -i 's/^line 3$/agent/' both reverted");
    Build::at(&project)
        .file("both", lines(&[(3, "agent"), (8, "mine")]))
        .file("mine", lines(&[(8, "mine")]))
        .file("picture", b"\0new")
        .file("reverted", lines(&[(8, "mine")]));
    let edited = Tree::read(&project);
    let alone = ["mine", "picture", "reverted"];

    // Without a merge they stay conflicts, which `--overwrite-later-edits` may replace.
    let plan = sandbox.plan(&id, &[]);
    plan.conflicted(&["both", "mine", "picture", "reverted"]);
    let is_kept = |document: &Restored| {
        document.touched(&["both"]);
        document.conflicted::<&str>(&[]);
        assert_eq!(document.kept, alone.map(|path| path.as_bytes().to_vec()));
        for kept in document.document["kept"].as_array().unwrap() {
            assert_eq!(kept["reason"], "changed after the session; nothing to merge");
        }
    };
    is_kept(&sandbox.plan(&id, &["--merge"]));
    sandbox
        .jackin(["restore", &id, "--merge", "--dry-run"])
        .ok()
        .shows("kept      mine: changed after the session; nothing to merge")
        .shows("1 path: 1 to merge.");
    let streamed = sandbox.jackin(["restore", &id, "--merge", "--dry-run", "--json-lines"]);
    let streamed = streamed.ok().text();
    assert_eq!(streamed.matches(r#""kind":"kept""#).count(), 3, "{streamed}");

    is_kept(&sandbox.restore(&id, &["--merge"]));
    assert_eq!(read(&project, "both"), lines(&[(8, "mine")]));
    for path in alone {
        assert_untouched(&edited.only(path), &Tree::read(&project).only(path));
    }
    let nothing = sandbox.plan(&id, &["--merge"]);
    nothing.touched::<&str>(&[]);
    assert_eq!(nothing.document["outcome"], "nothing");
}

/// Random edits of the agent and of the operator in many files.
#[test]
fn merged_files_are_what_git_makes_of_them() {
    const FILES: u64 = 60;
    let sandbox = Sandbox::new();
    let project = sandbox.project("random");
    let scripted = sandbox.scratch("agent");
    let (build, agent) = (Build::at(&project), Build::at(&scripted));
    let mut dice = Dice::new(37);
    let mut texts = Vec::new();
    for number in 0..FILES {
        let base: Vec<String> = (0..20).map(|line| format!("{line}\n")).collect();
        let mut edited = |lines: &[String], who: &str| {
            let mut lines = lines.to_vec();
            for edit in 0..=dice.below(3) {
                let at = usize::try_from(dice.below(lines.len() as u64)).unwrap();
                match dice.below(3) {
                    0 => lines[at] = format!("{who} {edit}\n"),
                    1 => lines.insert(at, format!("{who} {edit}\n")),
                    _ => drop(lines.remove(at)),
                }
            }
            lines
        };
        let left = edited(&base, "agent");
        let now = edited(&left, "operator");
        build.file(format!("{number}"), base.concat());
        agent.file(format!("{number}"), left.concat());
        texts.push([base.concat(), left.concat(), now.concat()]);
    }
    build.aged();
    let id = sandbox.launch(&project, &format!("cp {}/* .", scripted.display()));
    for (number, [_, _, now]) in texts.iter().enumerate() {
        build.file(format!("{number}"), now);
    }
    let edited = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--merge", "--yes"])
        .code_in(&[0, 6]);
    let mut clean = 0;
    for (number, [base, left, now]) in texts.iter().enumerate() {
        let sides = [("yours", now), ("left", left), ("before", base)];
        for (name, text) in sides {
            fs::write(scripted.join(name), text).unwrap();
        }
        let git = Command::new("git")
            .args(["merge-file", "-p", "--diff3", "yours", "left", "before"])
            .current_dir(&scripted)
            .output()
            .unwrap();
        let wanted = match git.status.success() {
            true => String::from_utf8(git.stdout).unwrap(),
            false => now.clone(),
        };
        clean += u32::from(git.status.success());
        assert_eq!(read(&project, &number.to_string()), wanted, "{number}");
    }
    assert!((10..50).contains(&clean), "{clean} of {FILES} are clean");
    sandbox.undo(&id);
    assert_same_tree(&edited, &Tree::read(&project));
}

#[test]
fn lines_that_overlap_show_no_secret() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("secret");
    let texts = |word: &str| {
        [
            (".env", format!("KEY={word}\n")),
            ("private", format!("{word}\n")),
            ("url", format!("https://me:{word}@e.com/\n")),
        ]
    };
    for (name, text) in texts("hunter1") {
        Build::at(&project).file(name, text);
    }
    Build::at(&project).mode("private", 0o600).aged();
    let id = sandbox.launch(&project, "sed -i s/hunter1/hunter2/ .env private url");
    for (name, text) in texts("hunter3") {
        fs::write(project.join(name), text).unwrap();
    }
    for form in [
        &["--dry-run"][..],
        &["--dry-run", "--json"],
        &["--dry-run", "--json-lines"],
        &["--dry-run", "--patch"],
        &["--yes"],
    ] {
        let words = [&["restore", id.as_str(), "--merge"][..], form].concat();
        let run = sandbox.jackin(words).code(6);
        let run = run.hides("hunter");
        if form == ["--dry-run"] {
            run.has("content hidden: it may hold secrets");
            run.has("https://(hidden)@e.com/");
        }
    }
}

#[test]
fn a_merge_keeps_gits_own_files_and_the_mode_of_a_later_edit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("own");
    let repository = Repository::with_history(&project, 1);
    Build::at(&project).file("f", lines(&[]));
    let script = "git config user.nickname agent; sed -i 's/^line 3$/agent/' f";
    let id = sandbox.launch(&project, script);
    repository.git(&["config", "user.nickname", "mine"]);
    Build::at(&project)
        .file("f", lines(&[(3, "agent"), (8, "mine")]))
        .mode("f", 0o600);
    let restored = sandbox.restore_in_part(&id, &["--merge", "--conflict-markers"]);
    restored.touched(&["f"]);
    restored.conflicted(&[".git/config"]);
    assert_eq!(repository.git(&["config", "user.nickname"]).trim_end(), "mine");
    assert_eq!(read(&project, "f"), lines(&[(8, "mine")]));
    assert_eq!(Tree::read(&project).at("f").mode, 0o600);
}

#[test]
fn a_file_that_changes_after_the_plan_of_a_merge_stays() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("drift");
    Build::at(&project).file("f", lines(&[])).aged();
    let id = sandbox.launch(&project, "sed -i 's/^line 3$/agent/' f");
    Build::at(&project).file("f", lines(&[(3, "agent"), (8, "mine")]));
    let script = format!("jackin recovery restore {id} --merge; echo \"code $?\"; sleep 60");
    let Some(tmux) = Tmux::start(&sandbox, &project, (80, 24), &script, &[]) else {
        return;
    };
    tmux.asks("[y/N");
    fs::write(project.join("f"), "drift\n").unwrap();
    let drift = Tree::read(&project);
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 1");
    assert_untouched(&drift, &Tree::read(&project));
    sandbox.no_litter();
}

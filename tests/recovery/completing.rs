//! Completions: what is offered where, in each shell, and nothing but silence where nothing can be known.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A workspace `shop` with one session that has the checkpoint `before-upgrade`, and the session's id.
fn shop() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "before\n");
    sandbox.configure(
        "workspaces/shop.toml",
        "[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/p\"\n[recovery]\nsnapshot = \"project\"\n",
    );
    sandbox.configure("workspaces/my shop.toml", "");
    let id = sandbox.jackin(["begin", "shop"]).ok();
    let id = String::from_utf8(id.stdout).unwrap().trim().to_owned();
    let named = [
        "checkpoint",
        &id,
        "--name",
        "before-upgrade",
        "--message",
        "it \x1b[31mworks",
    ];
    sandbox.jackin(named).ok();
    (sandbox, id)
}

/// The words (and the shell's own part) offered for the last of `words`; insists on a quiet success.
#[track_caller]
fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let all = ["__complete", &index, "--", "jackin", "recovery"];
    // The index counts `jackin` and `recovery`, and begins at 0.
    let index = (words.len() + 1).to_string();
    let mut all = all.map(str::to_owned).to_vec();
    all[1] = index;
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let run = sandbox.jackin(all).ok().harmless();
    assert!(run.stderr.is_empty(), "{run}");
    let text = String::from_utf8(run.stdout).unwrap();
    text.lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

#[test]
fn each_place_gets_what_it_takes() {
    let (sandbox, id) = shop();
    let id = id.as_str();
    assert_eq!(offered(&sandbox, &["rest"]), ["restore"]);
    assert_eq!(
        offered(&sandbox, &["restore", ""]),
        [id, "@latest", "shop", ":files"]
    );
    assert_eq!(offered(&sandbox, &["restore", "rc-"]), [id]);
    assert_eq!(offered(&sandbox, &["show", "sh"]), ["shop"]);
    assert_eq!(offered(&sandbox, &["restore", id, "a"]), [":files"]);
    assert_eq!(offered(&sandbox, &["restore", id, "--to", ""]), [":directories"]);
    let from = offered(&sandbox, &["diff", id, "--from", ""]);
    assert_eq!(from[..3], ["checkpoint", "baseline", "before-upgrade"]);
    assert_eq!(from[3..].len(), 2, "{from:?}");
    assert!(from[3..].iter().all(|word| word.starts_with("sn-")), "{from:?}");
    assert_eq!(offered(&sandbox, &["restore", id, "--to=/t"]), [":directories"]);
    assert_eq!(offered(&sandbox, &["diff", id, "--", "-o"]), [":files"]);
    assert_eq!(offered(&sandbox, &["restore", "--", ""]), [":files"]);
    assert_eq!(offered(&sandbox, &["cat", "--", "shop:"]), [":files"]);
    assert_eq!(offered(&sandbox, &["diff", "shop", "--to", "n"]), ["now"]);
    let glued = offered(&sandbox, &["restore", "shop", "--from=bef"]);
    assert_eq!(glued, ["--from=before-upgrade"]);
    // A name that would need quotes is left to the one who types it.
    assert_eq!(offered(&sandbox, &["explain", ""]), ["shop", "."]);
    assert_eq!(offered(&sandbox, &["launch", "./"]), [":directories"]);
    assert_eq!(offered(&sandbox, &["launch", "shop", "--", "ec"]), [":command"]);
    assert_eq!(offered(&sandbox, &["launch", "--", "ec"]), [":command"]);
    assert_eq!(offered(&sandbox, &["launch", "--", "./r"]), [":command"]);
    assert_eq!(
        offered(&sandbox, &["launch", "--name", "x", "--", "ec"]),
        [":command"]
    );
    assert_eq!(offered(&sandbox, &["launch", "--", "echo", "-n"]), [":command"]);
    assert_eq!(offered(&sandbox, &["man", "rest"]), ["restore"]);
    assert_eq!(offered(&sandbox, &["completions", ""]), ["bash", "zsh", "fish"]);
    assert_eq!(offered(&sandbox, &["restore", "--mtimes", "e"]), ["exact"]);
    // A value is no verb, and the session of another word is not this one's.
    assert_eq!(offered(&sandbox, &["diff", "--from", "checkpoint", "rc"]), [id]);
    sandbox.launch(&sandbox.project("recovery"), "true");
    let other = sandbox.newest();
    let from = offered(&sandbox, &["diff", "shop", "--from", "c"]);
    assert_eq!(from, ["checkpoint"], "{other} has a closing");
    let flags = offered(&sandbox, &["undo", "--d"]);
    assert_eq!(flags, ["--dry-run", "--delete-later-files"]);

    // Files first, for the latest session here, or a snapshot of any.
    assert_eq!(
        offered(&sandbox, &["cat", ""]),
        [&other, id, "@latest", "shop", ":files"]
    );
    assert_eq!(offered(&sandbox, &["edit", "src/"]), [":files"]);
    assert_eq!(offered(&sandbox, &["find", "src/"]), [":files"]);
    assert_eq!(offered(&sandbox, &["cat", "shop:be"]), ["shop:before-upgrade"]);
    assert_eq!(offered(&sandbox, &["cat", "shop:bas"]), ["shop:baseline"]);
    assert_eq!(offered(&sandbox, &["edit", "no-such:"]), [":files"]);

    // Only what can be ended is offered to be ended.
    assert_eq!(offered(&sandbox, &["end", "rc"]), [id]);
    sandbox.jackin(["end", id]).ok();
    assert_eq!(offered(&sandbox, &["end", "rc"]), [""; 0]);
    assert_eq!(
        offered(&sandbox, &["diff", "--from", "checkpoint", "rc"]).len(),
        2
    );
    std::fs::write(sandbox.project("shop").join("a"), "later\n").unwrap();
    sandbox
        .jackin(["restore", id, "--overwrite-later-edits", "--yes"])
        .ok();
    let receipts = offered(&sandbox, &["undo", "--receipt", ""]);
    assert_eq!(receipts.len(), 1, "{receipts:?}");
    let of_other = offered(&sandbox, &["undo", &other, "--receipt", ""]);
    assert_eq!(of_other, [""; 0], "it restored nothing");
    // An index far behind the words is answered with nothing, at once.
    let far = ["__complete", "18446744073709551615", "--", "jackin"];
    assert!(sandbox.jackin(far).ok().stdout.is_empty());
}

#[test]
fn without_a_store_it_is_silent_and_makes_none() {
    let sandbox = Sandbox::new();
    let before = Tree::read(sandbox.world());
    assert_eq!(offered(&sandbox, &["restore", "rc"]), [""; 0]);
    assert_eq!(offered(&sandbox, &["diff", "rc-x", "--from", "b"]), [""; 0]);
    assert_eq!(offered(&sandbox, &["launch", "s"]), [""; 0]);
    assert_untouched(&before, &Tree::read(sandbox.world()));
}

#[test]
fn what_cannot_be_read_at_once_is_left_out_in_silence() {
    let (sandbox, id) = shop();
    let catalog = sandbox.store().join("catalog.sqlite3");
    // Somebody commits at this moment.
    let writer = rusqlite::Connection::open(&catalog).unwrap();
    writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_eq!(offered(&sandbox, &["restore", "rc"]), [""; 0]);
    writer.execute_batch("ROLLBACK").unwrap();
    assert_eq!(offered(&sandbox, &["restore", "rc"]), [id]);
    // It comes from the future.
    writer.pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(offered(&sandbox, &["restore", "rc"]), [""; 0]);
    drop(writer);
    std::fs::write(&catalog, "no database").unwrap();
    assert_eq!(offered(&sandbox, &["restore", "rc"]), [""; 0]);
    sandbox.configure("config.toml", "not toml");
    assert_eq!(offered(&sandbox, &["explain", "sh"]), [""; 0]);
}

/// Runs `script` in a shell that finds the program and its completions; what it wrote.
#[track_caller]
fn in_shell(sandbox: &Sandbox, shell: &[&str], script: &str) -> Option<String> {
    let Some(program) = tool(shell[0]) else {
        skip("completions", &format!("there is no {}", shell[0]));
        return None;
    };
    let binary = Path::new(env!("CARGO_BIN_EXE_jackin"));
    let output = Command::new(program)
        .args(&shell[1..])
        .arg(script)
        .current_dir(sandbox.sources())
        .env_clear()
        .env("HOME", sandbox.home())
        .env(
            "COMPLETIONS",
            Path::new(env!("CARGO_MANIFEST_DIR")).join("completions"),
        )
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()),
        )
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn bash_puts_words_together_that_it_has_split() {
    let (sandbox, id) = shop();
    // As Bash 5 calls it: COMP_WORDS is split at `@` and `=`, and the second argument is what will be replaced.
    let try_it = |line: &str, words: &str, cut: &str| {
        let script = format!(
            "source \"$COMPLETIONS/jackin.bash\"; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({words}); \
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _jackin jackin '{cut}' x; printf '%s\\n' \"${{COMPREPLY[@]}}\"; \
             complete -p jackin"
        );
        in_shell(&sandbox, &["bash", "--norc", "-c"], &script)
    };
    let Some(at) = try_it(
        "jackin recovery restore @la",
        "jackin recovery restore @ la",
        "@la",
    ) else {
        return;
    };
    assert_eq!(at, "@latest\ncomplete -F _jackin jackin\n");
    let glued = try_it(
        "jackin  recovery restore shop --from=bef",
        "jackin recovery restore shop --from = bef",
        "bef",
    );
    assert!(glued.unwrap().starts_with("before-upgrade\n"));
    let empty = try_it("jackin recovery show ", "jackin recovery show ''", "").unwrap();
    assert!(empty.starts_with(&format!("{id}\n@latest\nshop\n")), "{empty}");
    let directory = try_it(
        "jackin recovery explain ./s",
        "jackin recovery explain ./s",
        "./s",
    )
    .unwrap();
    assert!(directory.starts_with("./shop\n"), "{directory}");
}

#[test]
fn bash_quotes_what_it_finds_by_itself() {
    let (sandbox, _) = shop();
    let programs = sandbox.scratch("programs");
    Build::at(&programs)
        .file("qq$(touch ran)", "#!/bin/sh\n")
        .mode("qq$(touch ran)", 0o755);
    Build::at(&sandbox.sources()).dir("d$(touch ran)");
    // Outside of a completion there is no `compopt`, as in Bash 3.2: nobody but the script can quote.
    let script = format!(
        "PATH='{}':$PATH; source \"$COMPLETIONS/jackin.bash\"; try() {{ COMP_LINE=$1; COMP_POINT=${{#COMP_LINE}}; \
         COMP_WORDS=($1); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _jackin jackin \"$2\" x; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"; }}; try 'jackin recovery launch shop -- qq' qq; \
         try 'jackin recovery explain ./d' ./d",
        programs.display()
    );
    let Some(said) = in_shell(&sandbox, &["bash", "--norc", "-c"], &script) else {
        return;
    };
    assert_eq!(said, "qq\\$\\(touch\\ ran\\)\n./d\\$\\(touch\\ ran\\)\n");
}

#[test]
fn zsh_completes_at_the_first_tab_when_it_loads_the_function() {
    let (sandbox, id) = shop();
    let programs = sandbox.scratch("programs");
    std::fs::create_dir(&programs).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_jackin"), programs.join("jackin-recovery")).unwrap();
    let script = format!(
        "path=('{}' $path); _describe() {{ print -rl -- ${{(P)3}} }}; compdef() {{ print registered }}; \
         fpath=($COMPLETIONS $fpath); autoload -U _jackin-recovery; \
         words=(jackin-recovery show rc); CURRENT=3; _jackin-recovery",
        programs.display()
    );
    let Some(said) = in_shell(&sandbox, &["zsh", "-f", "-c"], &script) else {
        return;
    };
    assert!(said.starts_with(&format!("{id}:")), "{said}");
}

#[test]
fn zsh_gets_words_with_what_they_are() {
    let (sandbox, id) = shop();
    // The parts of zsh's own that are called show what they were given.
    let script = "compdef() { print -r -- $* }; _describe() { print -rl -- ${(P)3} }; _files() { print -r files $* }; compset() { false }; \
                  source $COMPLETIONS/_jackin; \
                  words=(jackin recovery restore ''); CURRENT=4; _jackin; \
                  words=(jackin recovery restore shop x); CURRENT=5; _jackin; \
                  words=(jackin recovery explain ./s); CURRENT=4; _jackin";
    let Some(said) = in_shell(&sandbox, &["zsh", "-f", "-c"], script) else {
        return;
    };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[0], "_jackin jackin");
    assert!(lines[1].starts_with(&format!("{id}:")), "{said}");
    assert_eq!(lines[2], "@latest:the latest session here");
    // Both times a path is possible.
    assert_eq!(lines[4..], ["files", "files", "files -/"]);
}

#[test]
fn fish_asks_the_program() {
    let (sandbox, id) = shop();
    let script = "source $COMPLETIONS/jackin.fish; complete -C 'jackin recovery show rc'; \
                  complete -C 'jackin recovery diff shop --from=bef'; complete -C 'jackin recovery explain ./s'; \
                  complete -C 'jackin recovery restore shop --to=./s'; \
                  set PATH /nowhere; complete -C 'jackin recovery show rc'";
    let Some(said) = in_shell(&sandbox, &["fish", "--no-config", "-c"], script) else {
        return;
    };
    let words: Vec<&str> = said
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(words, [&id, "--from=before-upgrade", "./shop/", "--to=./shop/"]);
    assert!(!said.contains('\x1b'), "{said:?}");
}

#[test]
fn fish_completes_a_command_to_launch_and_runs_nothing() {
    let (sandbox, _) = shop();
    let script = r"source $COMPLETIONS/jackin.fish; complete -C 'jackin recovery launch -- ls ./sh'; \
                   complete -C 'jackin recovery launch -- \'(touch ran)\' ./sh'; complete -C 'jackin recovery launch -- ls (touch ran)/'; \
                   complete -C 'jackin recovery launch -- (touch ran)/'";
    let Some(said) = in_shell(&sandbox, &["fish", "--no-config", "-c"], script) else {
        return;
    };
    let words: Vec<&str> = said
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(words, ["./shop/", "./shop/"]);
    assert!(!sandbox.sources().join("ran").exists());
}

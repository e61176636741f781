//! A configuration that is wrong is refused with the file, the line, the key and the nearest valid one.

use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

const MOUNT: &str = "[[mounts]]\nsrc = \"~/src/p\"\ndst = \"/p\"\n";

/// `explain w` with this `[recovery]` table; the message must name the file. `MOUNT` stands before the table, so its
/// first line is line 4.
#[track_caller]
fn explained(recovery: &str) -> Run {
    let sandbox = Sandbox::new();
    sandbox.project("p");
    let config = sandbox.configure("workspaces/w.toml", &format!("{MOUNT}{recovery}"));
    let before = Tree::read(sandbox.world());
    let run = sandbox
        .jackin(["explain", "w"])
        .code(2)
        .shows(config.to_str().unwrap());
    sandbox
        .jackin(["launch", "w", "--", "true"])
        .code_in(&[2, 125])
        .shows(config.to_str().unwrap());
    let error = sandbox.jackin(["explain", "w", "--json"]).code(2).error();
    assert!(error.to_string().contains("w.toml"), "{error}");
    crate::support::compare::assert_untouched(&before, &Tree::read(sandbox.world()));
    run
}

/// Insists that the line's number stands in the message as a number of its own.
#[track_caller]
fn at_line(run: Run, line: u32) -> Run {
    let text = run.text();
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    assert!(
        numbers.clone().any(|word| word == line.to_string()),
        "line {line} is not named\n{run}"
    );
    run
}

#[test]
fn a_recipient_that_is_no_public_key_is_refused_where_it_stands() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    for wrong in ["foo", "", "AGE-SECRET-KEY-1QQQQ"] {
        sandbox.configure(
            "config.toml",
            &format!("[recovery.state]\nrecipients = [\"{wrong}\"]\n"),
        );
        let asked = sandbox.command(["explain", "--snapshot", "project", "."]);
        let run = asked.inside(&project).run().code(2);
        run.shows("config.toml, line 2: `recovery.state.recipients` cannot be")
            .hides("SECRET-KEY");
    }
}

#[test]
fn unknown_key_gets_file_line_and_nearest_key() {
    let run = explained("[recovery]\nsnapshto = \"project\"\n");
    at_line(run, 5).shows("snapshto").shows("snapshot");
    let run = explained("[recovery]\nsnapshot = \"project\"\nexcludes = [\"a\"]\n");
    at_line(run, 6).shows("excludes").shows("exclude");
    let run = explained("[recovery]\nsnapshot = \"project\"\n\n[recovery.limits]\nmax_entry = 5\n");
    at_line(run, 8).shows("max_entry").shows("max_entries");
}

#[test]
fn unknown_value_gets_the_nearest_value() {
    let run = explained("[recovery]\nsnapshot = \"projct\"\n");
    at_line(run, 5).shows("snapshot").shows("projct").shows("project");
    let run = explained("[recovery]\nsnapshot = \"project\"\nsensitive = \"withold\"\n");
    at_line(run, 6).shows("sensitive").shows("withhold");
    let run = explained("[recovery]\nsnapshot = \"project\"\non_failure = \"ignore\"\n");
    at_line(run, 6).shows("on_failure").shows("block");
}

#[test]
fn wrong_type_gets_its_line_and_key() {
    at_line(
        explained("[recovery]\nsnapshot = \"project\"\nexclude = \"target/\"\n"),
        6,
    )
    .shows("exclude");
    at_line(explained("[recovery]\nsnapshot = true\n"), 5).shows("snapshot");
    at_line(
        explained("[recovery]\nsnapshot = \"project\"\n[recovery.limits]\nmax_bytes = \"much\"\n"),
        7,
    )
    .shows("max_bytes");
    at_line(
        explained("[recovery]\nsnapshot = \"project\"\n[recovery.limits]\nmax_entries = -1\n"),
        7,
    )
    .shows("max_entries");
}

#[test]
fn broken_syntax_gets_its_line() {
    at_line(explained("[recovery]\nsnapshot = \"project\nexclude = []\n"), 5);
    at_line(explained("[recovery\nsnapshot = \"project\"\n"), 4);
    at_line(
        explained("[recovery]\nsnapshot = \"project\"\nsnapshot = \"off\"\n"),
        6,
    )
    .shows("snapshot");
}

#[test]
fn bad_exclude_is_named() {
    explained("[recovery]\nsnapshot = \"project\"\nexclude = [\"ok\", \"bad[\"]\n").shows("bad[");
}

#[test]
fn a_workspace_does_not_say_where_the_store_is_copied_to() {
    let run =
        explained("[recovery]\nsnapshot = \"project\"\n[recovery.store]\nreplicate = \"s3://bucket/x\"\n");
    at_line(run, 7).shows("replicate").shows("config.toml");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn places_that_are_none_are_told_without_what_could_be_a_secret() {
    for (place, why) in [
        ("https://bucket/x", "s3://bucket/prefix"),
        ("s3://user:canary@bucket/x", "must not hold credentials"),
        ("s3://B_ucket", "lower-case"),
        ("s3://bucket/a/../b", "plain words"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.configure(
            "config.toml",
            &format!(
                "[recovery.state]\nrecipients = [\"age1x\"]\n[recovery.store]\nreplicate = \"{place}\"\n"
            ),
        );
        let run = sandbox.jackin(["replicate"]).code(2);
        let run = run.shows("config.toml").shows(why);
        assert!(!String::from_utf8_lossy(&run.stderr).contains("canary"), "{run}");
    }
}

#[test]
fn error_in_the_common_file_names_that_file() {
    let sandbox = Sandbox::new();
    sandbox.project("p");
    let config = sandbox.configure(
        "config.toml",
        "version = \"v1alpha9\"\n[recovery]\nsnapshoot = \"project\"\n",
    );
    sandbox.configure("workspaces/w.toml", MOUNT);
    let run = sandbox
        .jackin(["explain", "w"])
        .code(2)
        .shows(config.to_str().unwrap());
    at_line(run, 3).shows("snapshoot").shows("snapshot");
}

#[test]
fn unknown_workspace_gets_the_nearest_names() {
    let sandbox = Sandbox::new();
    sandbox.project("p");
    sandbox.project("websiet");
    sandbox.configure(
        "workspaces/website.toml",
        &format!("{MOUNT}[recovery]\nsnapshot = \"project\"\n"),
    );
    let run = sandbox
        .jackin(["explain", "webiste"])
        .code(2)
        .shows("webiste")
        .shows("website");
    assert!(
        !run.text().contains("./webiste"),
        "there is no such directory\n{run}"
    );
    // A directory of that name in the current one is offered as a path.
    sandbox
        .jackin(["explain", "websiet"])
        .code(2)
        .shows("website")
        .shows("./websiet");
}

#[test]
fn workspace_without_mounts_is_named() {
    let sandbox = Sandbox::new();
    let config = sandbox.configure(
        "workspaces/bare.toml",
        "workdir = \"/w\"\n[recovery]\nsnapshot = \"project\"\n",
    );
    sandbox.configure(
        "workspaces/empty.toml",
        "mounts = []\n[recovery]\nsnapshot = \"project\"\n",
    );
    let run = sandbox.jackin(["explain", "bare"]).code(2).shows("mounts");
    assert!(
        run.text().contains("bare") || run.text().contains(config.to_str().unwrap()),
        "{run}"
    );
    sandbox.jackin(["explain", "empty"]).code(2).shows("mounts");
    sandbox
        .jackin(["launch", "bare", "--", "true"])
        .code_in(&[2, 125]);
    assert!(!sandbox.store().exists());
}

#[test]
fn mount_that_does_not_exist_is_named() {
    let sandbox = Sandbox::new();
    sandbox.project("p");
    let missing = sandbox.sources().join("not-there");
    let text = format!(
        "{MOUNT}[[mounts]]\nsrc = \"~/src/not-there\"\ndst = \"/n\"\n[recovery]\nsnapshot = \"project\"\n"
    );
    sandbox.configure("workspaces/w.toml", &text);
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let run = sandbox.jackin(["launch", "w", "--", "sh", "-c", &script]);
    run.code_in(&[2, 125]).shows(missing.to_str().unwrap());
    assert!(!marker.exists());
    sandbox.jackin(["explain", "w"]).shows(missing.to_str().unwrap());
    let file = sandbox.sources().join("a-file");
    std::fs::write(&file, "").unwrap();
    sandbox
        .jackin(["begin", "--snapshot", "project", file.to_str().unwrap()])
        .refused()
        .shows(file.to_str().unwrap());
    sandbox
        .jackin(["begin", "--snapshot", "project", missing.to_str().unwrap()])
        .refused()
        .shows(missing.to_str().unwrap());
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert!(
        crate::support::documents::instances(&run).is_empty(),
        "nothing is half written\n{run}"
    );
}

#[test]
fn configuration_inside_the_mount_is_never_read() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let build = crate::support::build::Build::at(&project);
    for path in [
        ".jackin/config.toml",
        ".config/jackin/config.toml",
        ".jackin-recovery.toml",
        "jackin.toml",
    ] {
        build.file(
            path,
            "[recovery]\nsnapshot = \"off\"\nexclude = [\"*\"]\nnonsense = 1\n",
        );
    }
    build.file("a", "before\n").file(".gitignore", "*\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    sandbox.diff(&id, &[]).are(&[("modified", "a")]);
}

//! Automatic excludes: what the operator's own integrations may say, and what is never left out although it has the name.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

const ZIG: &str = "markers = [\"build.zig\"]\nexclude = [\".zig-cache/\", \"zig-*/\"]\nexclude_at_root = [\"out/\"]\nwarning = \"ask before `zig fetch`\"\n";

fn project(sandbox: &Sandbox) -> PathBuf {
    let project = sandbox.project("tool");
    for path in [
        "build.zig",
        "src/a",
        "out/b",
        "src/out/c",
        "src/.zig-cache/d",
        "zig-out/e",
    ] {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    sandbox.configure("config.toml", "[recovery]\nsnapshot = \"project\"\n");
    project
}

#[test]
fn an_integration_of_the_operators_leaves_out_warns_and_is_named() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let file = sandbox.configure("integrations/zig.toml", ZIG);
    let contract = sandbox.jackin(["explain", project.to_str().unwrap()]).ok().said();
    for part in [
        "automatic (zig, because of build.zig, by",
        "integrations/zig.toml): .zig-cache/ zig-*/ /out/",
        "WARNING (zig in tool): ask before `zig fetch`",
    ] {
        assert!(contract.contains(part), "{part}: {contract}");
    }
    let id = sandbox.launch(
        &project,
        "echo agent | tee src/a out/b src/out/c src/.zig-cache/d zig-out/e",
    );
    let changes = sandbox.jackin(["diff", &id, "--json"]).ok().json();
    let paths: Vec<&str> = changes["changes"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|change| change["path"].as_str())
        .collect();
    assert_eq!(paths, ["src/a", "src/out/c"]);
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read(project.join("out/b")).unwrap(), b"agent\n");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(
        shown["coverage"][0]["excludes"][0]["source"]["integration"]["defined"],
        file.to_str().unwrap()
    );
    // Switched off they are not even read.
    sandbox.configure("integrations/zig.toml", "damaged");
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project\"\nintegrations = false\n",
    );
    let contract = sandbox.jackin(["explain", project.to_str().unwrap()]).ok().said();
    assert!(
        contract.contains("Automatic excludes are off") && !contract.contains("zig"),
        "{contract}"
    );
}

#[test]
fn the_example_says_what_is_left_out() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    sandbox.configure(
        "integrations/zig.toml",
        include_str!("../../config/example-integration.toml"),
    );
    let contract = sandbox.jackin(["explain", project.to_str().unwrap()]).ok().said();
    assert!(contract.contains(".zig-cache/ /zig-out/"), "{contract}");
}

#[test]
fn an_integration_can_do_nothing_else() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let target = project.to_str().unwrap();
    let cases = [
        (
            "markers = [\"a\"]\nexclude = [\"x/\"]\nsnapshot = \"off\"\n",
            "`snapshot` is not a known key",
        ),
        (
            "markers = [\"a\"]\nexclude = [\"x/\"]\npaths = [\"x\"]\n",
            "`paths` is not a known key",
        ),
        (
            "markers = [\"a\"]\nexclude = [\"x/\"]\ncommand = \"true\"\n",
            "`command` is not a known key",
        ),
        ("markers = [\"a\"]\nexclude = [\"/etc/\"]\n", "it is absolute"),
        (
            "markers = [\"a\"]\nexclude_at_root = [\"/etc/\"]\n",
            "it is absolute",
        ),
        ("markers = [\"a\"]\nexclude = [\"../x/\"]\n", "`..`"),
        ("markers = [\"a\"]\nexclude = [\"!x/\"]\n", "can only exclude"),
        ("markers = [\"a\"]\nexclude = [\"secrets\"]\n", "must end in `/`"),
        ("markers = [\"a\"]\nexclude = [\"*/\"]\n", "name of a directory"),
        (
            "markers = [\"a\"]\nexclude = [\"src/**/\"]\n",
            "name of a directory",
        ),
        ("markers = [\"a\"]\nexclude = [\".git/\"]\n", "would exclude .git"),
        ("markers = [\"a\"]\nexclude = [\".g*t/\"]\n", "would exclude .git"),
        ("markers = [\"../a\"]\nexclude = [\"x/\"]\n", "no path"),
        ("markers = [\"/etc/passwd\"]\nexclude = [\"x/\"]\n", "no path"),
        ("markers = [\"..\"]\nexclude = [\"x/\"]\n", "no path"),
        ("markers = []\nexclude = [\"x/\"]\n", "no `markers`"),
        ("exclude = [\"x/\"]\n", "no `markers`"),
        ("markers = [\"a\"]\n", "would do nothing"),
        (
            "markers = \"a\"\nexclude = [\"x/\"]\n",
            "must be a list of strings",
        ),
        ("markers = [1]\nexclude = [\"x/\"]\n", "must be a list of strings"),
        ("markers = [\"a\"]\nwarning = \"one\\ntwo\"\n", "one line"),
        ("markers = [\"a\"\n", "not valid TOML"),
    ];
    for (text, why) in cases {
        let file = sandbox.configure("integrations/own.toml", text);
        let told = sandbox.jackin(["explain", target]).code(2).said();
        assert!(
            told.contains(why) && told.contains(file.to_str().unwrap()),
            "{text}: {told}"
        );
    }
    let many = format!("markers = [\"a\"]\nexclude = [{}]\n", "\"x/\",".repeat(101));
    let long = format!("markers = [\"a\"]\nexclude = [\"{}/\"]\n", "x".repeat(300));
    let large = format!("markers = [\"a\"]\nexclude = [\"x/\"]\n#{}\n", "x".repeat(70_000));
    for (text, why) in [
        (many, "more than 100"),
        (long, "longer than 200"),
        (large, "larger than 64 KiB"),
    ] {
        sandbox.configure("integrations/own.toml", &text);
        let told = sandbox.jackin(["explain", target]).code(2).said();
        assert!(told.contains(why), "{told}");
    }
    fs::remove_file(sandbox.home().join(".config/jackin/integrations/own.toml")).unwrap();
    for name in ["rust.toml", "Zig.toml", "a b.toml", "-x.toml"] {
        let file = sandbox.configure(&format!("integrations/{name}"), ZIG);
        let told = sandbox.jackin(["explain", target]).code(2).said();
        assert!(told.contains("name"), "{told}");
        fs::remove_file(file).unwrap();
    }
    // What is no integration is passed over.
    sandbox.configure("integrations/README", "about");
    sandbox.jackin(["explain", target]).ok();
}

#[test]
fn what_git_tracks_is_not_taken_for_regenerable() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tool");
    let repository = Repository::init(&project);
    for path in [
        "package.json",
        "Cargo.toml",
        "vendor/node_modules/kept/index.js",
        "src/main.rs",
    ] {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    repository.commit("vendored");
    for path in ["target/debug/a", "node_modules/b"] {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    sandbox.configure("config.toml", "[recovery]\nsnapshot = \"project\"\n");
    let contract = sandbox.jackin(["explain", project.to_str().unwrap()]).ok().said();
    assert!(
        contract.contains(
            "node_modules/ is NOT excluded from tool: git tracks files in vendor/node_modules/kept"
        ),
        "{contract}"
    );
    assert!(contract.contains("/target/"), "{contract}");
    let id = sandbox.launch(&project, "rm -rf vendor target");
    sandbox.restore(&id, &[]);
    assert_eq!(
        fs::read(project.join("vendor/node_modules/kept/index.js")).unwrap(),
        b"x"
    );
    assert!(!project.join("target").exists());
}

#[test]
fn where_the_index_cannot_be_read_the_contract_names_what_is_left_out_all_the_same() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tool");
    let repository = Repository::init(&project);
    let vendored = "vendor/node_modules/kept/index.js";
    for path in ["package.json", vendored] {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    repository.commit("vendored");
    let tree = sandbox.scratch("tree");
    repository.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
    sandbox.configure("config.toml", "[recovery]\nsnapshot = \"project\"\n");
    let explained = |target: &Path| sandbox.jackin(["explain", target.to_str().unwrap()]).ok().said();
    let left_out = "automatic (node, because of package.json): node_modules/";
    let untold = "so it is unknown whether git tracks files in the automatic excludes";
    let contract = explained(&project);
    assert!(
        !contract.contains(left_out) && !contract.contains(untold),
        "{contract}"
    );
    // Of a linked work tree git's files lie elsewhere, and nothing is read there.
    let contract = explained(&tree);
    assert!(
        contract.contains("its git directory is elsewhere and not captured")
            && contract.contains(left_out)
            && contract.contains(untold),
        "{contract}"
    );
    let index = project.join(".git/index");
    for damage in ["", "DIRC", "no index at all"] {
        fs::write(&index, damage).unwrap();
        let contract = explained(&project);
        let told = contract.contains(left_out) && contract.contains(untold);
        assert!(told, "{damage:?}: {contract}");
    }
    // Not even root reads a directory as a file.
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    let contract = explained(&project);
    assert!(
        contract.contains(left_out) && contract.contains(untold),
        "{contract}"
    );
    // What is left out is out of reach of a restore, be it tracked or not.
    let id = sandbox.launch(
        &tree,
        "echo agent | tee package.json vendor/node_modules/kept/index.js",
    );
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read(tree.join("package.json")).unwrap(), b"x");
    assert_eq!(fs::read(tree.join(vendored)).unwrap(), b"agent\n");
}

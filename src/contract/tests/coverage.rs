//! Excludes with their sources, stack integrations, what is new since a baseline, and tracked paths.

use std::ffi::OsString;
use std::path::Path;

use super::{Host, only};
use crate::config::{Config, Flags};
use crate::contract::{Options, resolve};
use crate::model::{Coverage, ExcludeSource};

/// Patterns with `name<marker` for automatic ones.
fn excludes(coverage: &Coverage) -> Vec<String> {
    let word = |source: &ExcludeSource| match source {
        ExcludeSource::Config(_) => "config".to_owned(),
        ExcludeSource::Integration { name, because, .. } => format!("{name}<{because}"),
        ExcludeSource::State(because) => because.clone(),
        ExcludeSource::Flag => "flag".to_owned(),
    };
    coverage
        .excludes
        .iter()
        .map(|rule| format!("{} {}", rule.pattern, word(&rule.source)))
        .collect()
}

#[test]
fn stacks_are_detected_by_a_regular_file_in_the_root_only() {
    let rust = ["/target/ rust<Cargo.toml"];
    let node = [
        "node_modules/ node<package.json",
        ".next/ node<package.json",
        ".nuxt/ node<package.json",
        ".turbo/ node<package.json",
    ];
    let python = [
        ".venv/ python-uv<pyproject.toml",
        "__pycache__/ python-uv<pyproject.toml",
        ".pytest_cache/ python-uv<pyproject.toml",
        ".mypy_cache/ python-uv<pyproject.toml",
        ".ruff_cache/ python-uv<pyproject.toml",
    ];
    let found = |host: Host| excludes(only(&host.project("src", "").unwrap()));
    assert_eq!(found(Host::new()), [""; 0]);
    assert_eq!(found(Host::new().file("src/Cargo.toml")), rust);
    assert_eq!(found(Host::new().file("src/package.json")), node);
    assert_eq!(found(Host::new().file("src/pyproject.toml")), python);
    assert_eq!(
        found(Host::new().file("src/go.mod").file("src/sub/Cargo.toml")),
        [""; 0]
    );
    let all = Host::new()
        .file("src/pyproject.toml")
        .file("src/Cargo.toml")
        .file("src/package.json");
    assert_eq!(found(all), [&rust[..], &node, &python].concat());
    // Nothing else counts: a directory, a link, a dangling link.
    assert_eq!(found(Host::new().dir("src/Cargo.toml")), [""; 0]);
    assert_eq!(
        found(Host::new().file("real").link("src/Cargo.toml", "real")),
        [""; 0]
    );
    // `target` must be a directory, or not there.
    assert_eq!(found(Host::new().file("src/Cargo.toml").dir("src/target")), rust);
    assert_eq!(
        found(Host::new().file("src/Cargo.toml").file("src/target")),
        [""; 0]
    );
    let linked = Host::new()
        .file("src/Cargo.toml")
        .dir("out")
        .link("src/target", "out");
    assert_eq!(found(linked), [""; 0]);
}

#[test]
fn automatic_excludes_come_first_and_can_be_switched_off_or_taken_back() {
    let host = Host::new().file("src/Cargo.toml");
    let contract = host.project("src", "exclude = [\"!/target/\"]").unwrap();
    assert_eq!(
        excludes(only(&contract)),
        ["/target/ rust<Cargo.toml", "!/target/ config"]
    );
    let contract = host
        .project("src", "integrations = false\nexclude = [\"x\"]")
        .unwrap();
    assert_eq!(excludes(only(&contract)), ["x config"]);
    let environment = host.environment();
    let flags = Flags {
        snapshot: Some("project".into()),
        exclude: vec!["y/".into()],
        ..Flags::default()
    };
    let resolved = Config::load(&environment)
        .unwrap()
        .for_directory(Path::new("."), &flags)
        .unwrap();
    let contract = resolve(&environment, &resolved, Options::default()).unwrap();
    // The workspace of the directory counts for it however it is named.
    assert_eq!(excludes(only(&contract)), ["x config", "y/ flag"]);
    assert_eq!(contract.label, "src");
}

#[test]
fn an_automatic_exclude_that_the_last_baseline_lacked_is_new() {
    let host = Host::new().file("src/Cargo.toml");
    let recovery = "snapshot = \"project\"\nexclude = [\"mine\"]";
    let with = |host: &Host, previous: &[Coverage]| {
        let contract = host
            .workspace(&[("src", "")], recovery, Options::default(), previous)
            .unwrap();
        let mount = contract.mounts[0].clone();
        let new: Vec<String> = mount
            .new_excludes
            .iter()
            .map(|rule| rule.pattern.clone())
            .collect();
        (new, mount.has_baseline, mount.coverage.unwrap())
    };
    let none = Vec::<String>::new();
    // The first baseline has nothing to compare with.
    let (new, has_baseline, first) = with(&host, &[]);
    assert_eq!((new, has_baseline), (none.clone(), false));
    assert_eq!(with(&host, std::slice::from_ref(&first)).0, none);
    // An agent plants a package.json.
    let host = host.file("src/package.json");
    let (new, has_baseline, _) = with(&host, std::slice::from_ref(&first));
    assert_eq!(new, ["node_modules/", ".next/", ".nuxt/", ".turbo/"]);
    assert!(has_baseline);
    // The baseline of another root says nothing; the operator's own excludes are never called new.
    let mut other = first.clone();
    other.root = host.bytes("elsewhere");
    assert_eq!(with(&host, &[other]).0, none);
    let mut bare = first;
    bare.excludes.clear();
    assert_eq!(with(&host, &[bare]).0.len(), 5);
}

#[test]
fn tracked_paths_are_folded_and_the_absent_ones_named() {
    let host = Host::new().dir("src/data/deep").file("src/one.txt");
    let contract = host
        .project(
            "src",
            "paths = [\"later\", \"data/deep\", \"data/\", \"one.txt\", \"data\"]",
        )
        .unwrap();
    let text = |paths: &[crate::model::RelPath]| -> Vec<String> {
        paths
            .iter()
            .map(|path| path.as_path().to_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(text(&only(&contract).tracked), ["data", "later", "one.txt"]);
    assert_eq!(text(&contract.mounts[0].absent_paths), ["later"]);
    let overwrites = ["src/data", "src/later", "src/one.txt"].map(|path| host.bytes(path));
    assert_eq!(contract.restore.overwrites, overwrites);
}

#[test]
fn a_tracked_path_through_a_link_is_refused() {
    let host = Host::new().dir("elsewhere/in").link("src/way", "elsewhere");
    let error = host.project("src", "paths = [\"way/in\"]").unwrap_err();
    assert_eq!(
        host.short(&error),
        "paths names ROOT/src/way/in, but ROOT/src/way is a symbolic link, which a capture does not follow; \
         name the real directory"
    );
    // The link itself may be tracked: as a link.
    host.project("src", "paths = [\"way\"]").unwrap();
}

#[test]
fn an_exclude_of_the_operator_on_a_tracked_path_is_a_contradiction() {
    let host = Host::new().dir("src/a/b");
    for pattern in ["a/", "b", "/a/b/"] {
        let error = host
            .project("src", &format!("paths = [\"a/b\"]\nexclude = [{pattern:?}]"))
            .unwrap_err();
        assert_eq!(
            host.short(&error),
            format!(
                "paths names a/b below the mount ROOT/src, but the exclude {pattern:?} leaves it out; \
                 remove one of the two"
            )
        );
    }
    host.project("src", "paths = [\"a/b\"]\nexclude = [\"a/b/*.o\", \"c\"]")
        .unwrap();
    host.project("src", "paths = [\"a/b\"]\nexclude = [\"b\", \"!b\"]")
        .unwrap();
}

#[test]
fn a_tracked_path_beats_an_automatic_exclude() {
    let host = Host::new()
        .file("src/Cargo.toml")
        .file("src/package.json")
        .dir("src/target/doc");
    let contract = host.project("src", "paths = [\"target/doc\"]").unwrap();
    assert!(!excludes(only(&contract)).contains(&"/target/ rust<Cargo.toml".to_owned()));
    assert_eq!(only(&contract).excludes.len(), 4);
}

#[test]
fn roots_that_are_not_utf8_work() {
    use std::os::unix::ffi::OsStringExt as _;
    let host = Host::new();
    let name = OsString::from_vec(b"src/\xff\xfe".to_vec());
    let root = host.path("").join(&name);
    std::fs::create_dir(&root).unwrap();
    let environment = host.environment();
    let flags = Flags {
        snapshot: Some("project".into()),
        ..Flags::default()
    };
    let resolved = Config::load(&environment)
        .unwrap()
        .for_directory(&root, &flags)
        .unwrap();
    let contract = resolve(&environment, &resolved, Options::default()).unwrap();
    assert_eq!(only(&contract).root.to_path(), root);
    assert_eq!(only(&contract).label, "__");
    assert!(serde_json::to_string(&contract).unwrap().contains("base64"));
}

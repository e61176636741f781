//! Holds every JSON document of every run against the committed schema, as strictly as can be: a field that the schema
//! does not know is a fault here, though readers must not mind it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{LazyLock, OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::run::Run;

/// The validator of each document, by its name below `$defs`, made when it is first wanted.
static DOCUMENTS: LazyLock<BTreeMap<String, OnceLock<Validator>>> = LazyLock::new(|| {
    let all = SCHEMA["anyOf"].as_array().unwrap().iter();
    let name = |one: &Value| {
        one["$ref"]
            .as_str()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned()
    };
    all.map(|one| (name(one), OnceLock::new())).collect()
});

/// The committed schema, each of its definitions closed.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema: Value = serde_json::from_str(include_str!("../../../config/schema.json")).unwrap();
    for definition in schema["$defs"].as_object_mut().unwrap().values_mut() {
        close(definition);
    }
    schema
});

fn validator(name: &str) -> &'static Validator {
    DOCUMENTS[name].get_or_init(|| {
        let whole = json!({ "$ref": format!("#/$defs/{name}"), "$defs": SCHEMA["$defs"] });
        jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&whole)
            .unwrap_or_else(|error| panic!("{name}: {error}"))
    })
}

/// Forbids what is not named, in `schema` and in all that its properties and items hold.
fn close(schema: &mut Value) {
    if schema.get("properties").is_some() || schema.get("oneOf").is_some() {
        schema["unevaluatedProperties"] = false.into();
    }
    below(schema);
}

fn below(schema: &mut Value) {
    for (key, value) in schema.as_object_mut().into_iter().flatten() {
        match (key.as_str(), value) {
            ("properties", Value::Object(all)) => all.values_mut().for_each(close),
            ("items", one) => close(one),
            // Each is one face of the object around it, which knows more fields.
            ("oneOf" | "anyOf" | "allOf", Value::Array(all)) => all.iter_mut().for_each(below),
            _ => {}
        }
    }
}

/// The name of the document that these arguments ask for; none without `--json`.
pub(crate) fn printed_by(args: &[OsString]) -> Option<&'static str> {
    let own = args.iter().take_while(|arg| *arg != "--");
    let words: Vec<&str> = own.filter_map(|arg| arg.to_str()).collect();
    let verb = *words.iter().find(|word| !word.starts_with('-'))?;
    let is_lines = words.contains(&"--json-lines");
    if !words.contains(&"--json") && !is_lines {
        return None;
    }
    let name = match verb {
        "restore" if words.contains(&"--to") => "restore-to",
        "show" if words.contains(&"--contract") => "show-contract",
        "import" if words.contains(&"--from") => "import-from",
        "log" if is_bare(&words, "--anchor") => "log-anchor",
        // Tests write a file of `log` with a slash.
        "log"
            if words
                .windows(2)
                .any(|pair| pair[1].contains('/') && pair[0] != "--log-file") =>
        {
            "log-path"
        }
        "completions" if words.contains(&"--install") => "completions-install",
        "hook" => match *words.iter().skip_while(|word| **word != "hook").nth(1)? {
            "install" => "hook-install",
            "uninstall" => "hook-uninstall",
            _ => "hook-status",
        },
        verb => verb,
    };
    let ending = if is_lines { "-lines" } else { "" };
    let mut known = DOCUMENTS.keys().map(String::as_str);
    known.find(|known| known.strip_suffix(ending) == Some(name) && known.ends_with("-lines") == is_lines)
}

/// Whether a flag stands there without a value.
fn is_bare(words: &[&str], flag: &str) -> bool {
    let at = words.iter().position(|word| *word == flag);
    at.is_some_and(|at| words.get(at + 1).is_none_or(|next| next.starts_with('-')))
}

/// Every document of the schema, sorted.
pub(crate) fn names() -> Vec<String> {
    DOCUMENTS.keys().cloned().collect()
}

/// Insists that `value` is the document of that name.
#[track_caller]
pub(crate) fn check(name: &str, value: &Value, run: &dyn std::fmt::Display) {
    let faults: Vec<String> = validator(name)
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "not a `{name}` document:\n{}\n{run}",
        faults.join("\n")
    );
}

/// The command that prints a document on each line without `--json-lines`.
const LINES: &str = "watch";

/// Insists that a run with `--json` printed one document or none, and told its error as one.
#[track_caller]
pub(crate) fn check_run(name: &str, run: &Run) {
    if name == LINES || name.ends_with("-lines") {
        for line in run
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            check(name, &serde_json::from_slice(line).unwrap(), run);
        }
    } else if !run.stdout.is_empty() {
        check(name, &run.json(), run);
    }
    // Without a status it was killed, and code 1 and 6 may stand for a result.
    if run.stdout.is_empty() && run.exit().is_some_and(|code| code != 0) {
        let value: Value = serde_json::from_slice(last_line(&run.stderr))
            .unwrap_or_else(|error| panic!("the error is no document: {error}\n{run}"));
        check("error", &value, run);
    }
}

fn last_line(bytes: &[u8]) -> &[u8] {
    let mut lines = bytes
        .rsplit(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines.next().unwrap_or_default()
}

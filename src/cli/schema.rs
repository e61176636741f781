//! The JSON schema of every document, made from the types that are printed.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::document::{
    AdoptDocument, AnchorDocument, BeginDocument, CheckpointDocument, DiffDocument, DoctorDocument,
    EndDocument, ExplainDocument, ExportDocument, FileDocument, ForkDocument, HookEditDocument,
    HookStatusDocument, ImportDocument, InitDocument, ListDocument, LogDocument, PinDocument, PruneDocument,
    RebuildDocument, ReplicateDocument, ReportDocument, RestoreDocument, RestoreToDocument, ShowDocument,
    VerifyDocument,
};
use super::error::{ErrorDocument, LostResult};

/// The whole schema (JSON Schema 2020-12). Each document has a name below `$defs`: the verb's, or `error` (on stderr), `report`
/// (`launch --report`) and `restore-to` (`restore --to`). Any of them is valid against the whole.
pub(super) fn all() -> Value {
    // As they are written: what is left out when it is none is not required, and nothing else is optional.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let documents = [
        one::<RestoreDocument>(&mut generator, "abort"),
        one::<BeginDocument>(&mut generator, "begin"),
        one::<CheckpointDocument>(&mut generator, "checkpoint"),
        one::<FileDocument<'_>>(&mut generator, "completions"),
        one::<DiffDocument>(&mut generator, "diff"),
        one::<DoctorDocument>(&mut generator, "doctor"),
        one::<EndDocument>(&mut generator, "end"),
        one::<ErrorDocument<'_>>(&mut generator, "error"),
        one::<ExplainDocument<'_>>(&mut generator, "explain"),
        one::<ExportDocument>(&mut generator, "export"),
        one::<ForkDocument>(&mut generator, "fork"),
        one::<HookEditDocument>(&mut generator, "hook-install"),
        one::<HookStatusDocument>(&mut generator, "hook-status"),
        one::<HookEditDocument>(&mut generator, "hook-uninstall"),
        one::<ImportDocument>(&mut generator, "import"),
        one::<AdoptDocument>(&mut generator, "import-from"),
        one::<InitDocument>(&mut generator, "init"),
        one::<ListDocument>(&mut generator, "list"),
        one::<LogDocument<'_>>(&mut generator, "log"),
        one::<AnchorDocument>(&mut generator, "log-anchor"),
        one::<FileDocument<'_>>(&mut generator, "man"),
        one::<PinDocument>(&mut generator, "pin"),
        one::<PruneDocument>(&mut generator, "prune"),
        one::<RebuildDocument>(&mut generator, "rebuild"),
        one::<ReplicateDocument>(&mut generator, "replicate"),
        one::<ReportDocument>(&mut generator, "report"),
        one::<RestoreDocument>(&mut generator, "restore"),
        one::<RestoreToDocument>(&mut generator, "restore-to"),
        one::<RestoreDocument>(&mut generator, "resume"),
        one::<ShowDocument<'_>>(&mut generator, "show"),
        one::<RestoreDocument>(&mut generator, "undo"),
        one::<PinDocument>(&mut generator, "unpin"),
        one::<VerifyDocument>(&mut generator, "verify"),
        one::<LostResult>(&mut generator, "warning"),
    ];
    let names = documents
        .iter()
        .map(|(name, _)| json!({ "$ref": format!("#/$defs/{name}") }));
    let any: Vec<Value> = names.collect();
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    definitions.extend(
        documents
            .into_iter()
            .map(|(name, schema)| (name.to_owned(), schema.to_value())),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "jackin recovery: what --json prints",
        "description": "Fields are only ever added within one version; readers must not mind fields that they do not know.",
        "anyOf": any,
        "$defs": definitions,
    })
}

/// A document's own schema; the types that it shares with others become definitions.
fn one<T: JsonSchema>(generator: &mut SchemaGenerator, name: &'static str) -> (&'static str, Schema) {
    (name, T::json_schema(generator))
}

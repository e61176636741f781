//! The JSON schema of every document, made from the types that are printed.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::error::{ErrorDocument, LostResult};

/// JSON document: its name below `$defs`, and its type.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Document {
    name: &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

impl Document {
    /// Returns its name below `$defs`.
    pub(in crate::cli) const fn name(self) -> &'static str {
        self.name
    }

    /// Returns the document of type `T`.
    pub(in crate::cli) const fn of<T: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            schema: T::json_schema,
        }
    }
}

/// The whole schema (JSON Schema 2020-12). Each document has a name below `$defs`: the command's, or `error` (on stderr), `report`
/// (`launch --report`) and `restore-to` (`restore --to`). Any of them is valid against the whole.
pub(super) fn all(documents: impl Iterator<Item = Document>) -> Value {
    // As they are written: what is left out when it is none is not required, and nothing else is optional.
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let of_all = [
        Document::of::<ErrorDocument<'_>>("error"),
        Document::of::<LostResult>("warning"),
    ];
    let mut documents: Vec<Document> = documents.chain(of_all).collect();
    documents.sort_unstable_by_key(|document| document.name);
    let schema = |document: Document| (document.name, (document.schema)(&mut generator));
    let documents: Vec<_> = documents.into_iter().map(schema).collect();
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

//! The JSON schema of every document, made from the types that are printed.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::error::{ErrorDocument, LostResult};
use crate::report::{KIND, SCHEMA, SUMMARY, VALUE};

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

    /// Returns the line of `--json-lines` for the document of type `T`.
    pub(in crate::cli) const fn lines_of<T: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            schema: lines_schema::<T>,
        }
    }

    /// Returns the document of type `T`.
    pub(in crate::cli) const fn of<T: JsonSchema>(name: &'static str) -> Self {
        Self {
            name,
            schema: T::json_schema,
        }
    }
}

/// Returns the schema of one line of a document that is cut into lines: an item of one of its lists, or the summary.
#[allow(
    clippy::indexing_slicing,
    reason = "a missing key of a JSON object reads as null and is made when it is written, and a schema is an object"
)]
fn lines_schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let whole = T::json_schema(generator).to_value();
    let definitions = generator.definitions().clone();
    let fixed = |schema: &mut Value, kind: &str| {
        schema["properties"][SCHEMA] = json!({ "type": "integer", "const": 1 });
        schema["properties"][KIND] = json!({ "type": "string", "const": kind });
        let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
        required.retain(|name| *name != SCHEMA);
        required.extend([SCHEMA.into(), KIND.into()]);
        schema["required"] = required.into();
    };
    let mut summary = whole.clone();
    let mut lines = Vec::new();
    for (name, property) in whole["properties"].as_object().into_iter().flatten() {
        if property["type"] != "array" {
            continue;
        }
        if let Some(fields) = summary["properties"].as_object_mut() {
            fields.remove(name);
        }
        if let Some(required) = summary["required"].as_array_mut() {
            required.retain(|other| other != name);
        }
        let of = property["items"]["$ref"]
            .as_str()
            .and_then(|of| of.rsplit('/').next());
        let item = of
            .and_then(|of| definitions.get(of))
            .unwrap_or(&property["items"]);
        let is_object = item["type"] == "object" || item.get("properties").is_some();
        let mut line = match is_object {
            true => item.clone(),
            false => json!({ "type": "object", "properties": { VALUE: item }, "required": [VALUE] }),
        };
        line["description"] = property["description"].clone();
        fixed(&mut line, name);
        lines.push(line);
    }
    fixed(&mut summary, SUMMARY);
    lines.push(summary);
    let description =
        "A line of --json-lines: an item of the list that `kind` names, or the summary, which comes last.";
    let schema = json!({ "description": description, "type": "object", "oneOf": lines });
    Schema::try_from(schema).unwrap_or_default()
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

//! Checks that the JSON Schemas in `docs/schemas` match the types, and that stored documents are valid.
//!
//! `UPDATE_SCHEMAS=1 cargo test -p iogauge-model --test schemas` rewrites them.

#![allow(clippy::unwrap_used)]

mod common;

use common::stored;
use iogauge_model::result::{
    BESIDE_FORMAT, BesideDocument, COMPARE_FORMAT, CROSSCHECK_FORMAT, CompareDocument,
    CrosscheckDocument, DB_VERIFY_FORMAT, DOCTOR_FORMAT, DatabaseCheck, DoctorDocument,
    FIND_FORMAT, FindDocument, HISTORY_FORMAT, HistoryDocument, PROFILE_FORMAT, ProfileDocument,
    RUN_FORMAT, RunDocument, SUITE_FORMAT, SUITE_PLAN_FORMAT, SuiteDocument, SuitePlanDocument,
    TREND_FORMAT, TrendDocument, UNFINISHED_FORMAT, UnfinishedDocument,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn schema<D: JsonSchema>(format: &str) -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<D>().to_value();
    for_readers(&mut schema);
    schema["title"] = json!(format);
    schema["properties"]["format"] = json!({ "const": format });
    (format.to_owned(), schema)
}

/// Removes Rust's documentation markup from descriptions.
fn for_readers(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get_mut("description") {
                let plain = text.replace("[`", "`").replace("`]", "`").replace("super::", "");
                *text = plain.replace("`None`", "`null`").replace('\n', " ");
            }
            members.values_mut().for_each(for_readers);
        }
        Value::Array(items) => items.iter_mut().for_each(for_readers),
        _ => {}
    }
}

/// Formats a schema with one line per type and property, so that a diff shows changes line by line.
fn text(schema: &Value) -> String {
    let members = |value: &Value, indent: &str, each: &dyn Fn(&str, &Value) -> String| {
        let members = value.as_object().unwrap().iter();
        let lines: Vec<_> =
            members.map(|(k, v)| format!("{indent}{}: {}", json!(k), each(k, v))).collect();
        lines.join(",\n")
    };
    let line = |_: &str, value: &Value| value.to_string();
    let member = |name: &str, value: &Value| match name {
        "$defs" | "properties" => format!("{{\n{}\n  }}", members(value, "    ", &line)),
        _ => value.to_string(),
    };
    format!("{{\n{}\n}}\n", members(schema, "  ", &member))
}

/// Returns each format with its schema.
fn schemas() -> Vec<(String, Value)> {
    vec![
        schema::<RunDocument>(RUN_FORMAT),
        schema::<FindDocument>(FIND_FORMAT),
        schema::<SuiteDocument>(SUITE_FORMAT),
        schema::<SuitePlanDocument>(SUITE_PLAN_FORMAT),
        schema::<CompareDocument>(COMPARE_FORMAT),
        schema::<CrosscheckDocument>(CROSSCHECK_FORMAT),
        schema::<DoctorDocument>(DOCTOR_FORMAT),
        schema::<ProfileDocument>(PROFILE_FORMAT),
        schema::<BesideDocument>(BESIDE_FORMAT),
        schema::<DatabaseCheck>(DB_VERIFY_FORMAT),
        schema::<HistoryDocument>(HISTORY_FORMAT),
        schema::<TrendDocument>(TREND_FORMAT),
        schema::<UnfinishedDocument>(UNFINISHED_FORMAT),
    ]
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Returns the file name of a format's schema: `run-1.json` for `iogauge.run/1`.
fn file_name(format: &str) -> String {
    format!("{}.json", format.trim_start_matches("iogauge.").replace('/', "-"))
}

#[test]
fn schema_files_match_the_types() {
    for (format, schema) in schemas() {
        let path = docs().join("schemas").join(file_name(&format));
        let text = text(&schema);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{} is out of date: set UPDATE_SCHEMAS=1", path.display());
    }
}

#[test]
fn every_schema_has_a_section_in_the_docs() {
    let page = fs::read_to_string(docs().join("json.md")).unwrap();
    for (format, _) in schemas() {
        assert!(page.contains(&format!("## `{format}`")), "{format}");
        assert!(page.contains(&format!("(schemas/{})", file_name(&format))), "{format}");
    }
}

#[test]
fn stored_documents_validate_against_schemas() {
    let schemas = schemas();
    for (path, document) in stored() {
        let format = document["format"].as_str().unwrap();
        let (_, schema) = schemas.iter().find(|(name, _)| name == format).unwrap();
        let validator = jsonschema::validator_for(schema).unwrap();
        let errors = validator.iter_errors(&document);
        let errors: Vec<_> = errors.map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
    }
}

#[test]
fn find_document_without_answer_is_invalid() {
    let (path, mut document) =
        stored().into_iter().find(|(p, _)| p.ends_with("find.json")).unwrap();
    document.as_object_mut().unwrap().remove("answer");
    let (_, schema) = schema::<FindDocument>(FIND_FORMAT);
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(!validator.is_valid(&document), "{}", path.display());
}

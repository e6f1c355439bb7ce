//! Make two Avro documents comparable.
//!
//! Avro's Java resolver, which Pulsar's clients use, does not compare the names of records, and producers
//! of one topic do live in different packages. `arrow-avro` compares full names. So namespaces go, and the
//! writer's outermost record takes the reader's name.

use std::collections::HashMap;

use serde_json::Value;

use crate::document::AvroType;
use crate::error::{KernelError, Result};

/// Writer and reader document without namespaces, under one outer name.
pub fn comparable_documents(writer: &str, reader: &str) -> Result<(String, String)> {
    let (mut writer, mut reader) = (parse(writer)?, parse(reader)?);
    strip(&mut writer);
    strip(&mut reader);
    if let (Some(name), Some(own)) = (reader.get("name").cloned(), writer.get_mut("name")) {
        *own = name;
    }
    Ok((writer.to_string(), reader.to_string()))
}

/// The document with only the named top-level fields, in its own order.
pub fn project(document: &str, names: &[&str]) -> Result<String> {
    let mut value = parse(document)?;
    if let Some(fields) = value.get_mut("fields").and_then(Value::as_array_mut) {
        let wanted =
            |field: &Value| field.get("name").and_then(Value::as_str).is_some_and(|n| names.contains(&n));
        fields.retain(wanted);
    }
    let projected = value.to_string();
    // A field that goes may have defined a type that a field that stays refers to.
    if AvroType::parse(&projected).is_ok() { Ok(projected) } else { Ok(document.to_owned()) }
}

fn parse(document: &str) -> Result<Value> {
    serde_json::from_str(document)
        .map_err(|e| KernelError::schema(format!("the Avro schema is not JSON: {e}")))
}

/// Drop namespaces, unless two types would end up with one name.
fn strip(document: &mut Value) {
    let mut names = HashMap::new();
    if collect(document, "", &mut names) {
        rename(document);
    }
}

/// Short name to full name of all declared types; false when two full names share a short one.
fn collect(value: &Value, namespace: &str, names: &mut HashMap<String, String>) -> bool {
    match value {
        Value::Array(branches) => branches.iter().all(|b| collect(b, namespace, names)),
        Value::Object(object) => {
            let mut inner = namespace.to_owned();
            if let (true, Some(name)) = (is_named_type(value), value.get("name").and_then(Value::as_str)) {
                let own = value.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
                let full = if name.contains('.') { name.to_owned() } else { format!("{own}.{name}") };
                inner = full.rsplit_once('.').map_or("", |(ns, _)| ns).to_owned();
                if names.insert(short(name).to_owned(), full.clone()).is_some_and(|other| other != full) {
                    return false;
                }
            }
            ["type", "items", "values"]
                .iter()
                .filter_map(|k| object.get(*k))
                .all(|v| collect(v, &inner, names))
                && object
                    .get("fields")
                    .and_then(Value::as_array)
                    .is_none_or(|fields| fields.iter().all(|f| collect(f, &inner, names)))
        }
        _ => true,
    }
}

fn rename(value: &mut Value) {
    match value {
        Value::String(name) => *name = short(name).to_owned(),
        Value::Array(branches) => branches.iter_mut().for_each(rename),
        Value::Object(_) => {
            if is_named_type(value) {
                if let Some(object) = value.as_object_mut() {
                    object.remove("namespace");
                    object.remove("aliases");
                }
                if let Some(name) = value.get_mut("name") {
                    rename(name);
                }
            }
            for key in ["type", "items", "values"] {
                value.get_mut(key).into_iter().for_each(rename);
            }
            let fields = value.get_mut("fields").and_then(Value::as_array_mut);
            fields.into_iter().flatten().for_each(rename);
        }
        _ => {}
    }
}

fn is_named_type(value: &Value) -> bool {
    matches!(value.get("type").and_then(Value::as_str), Some("record" | "error" | "enum" | "fixed"))
}

fn short(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

//! The parser of a plan's JSON.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::names::EnumNames;
use super::{Absent, FieldPlan, Kind, Meaning, MessagePlan, ProtobufPlan, Shape};
use crate::error::{KernelError, Result};

/// The largest legal field number.
const MAX_NUMBER: u64 = (1 << 29) - 1;

impl ProtobufPlan {
    /// Parses JSON. Fails if the JSON differs from the format that the Python package writes.
    pub fn parse(definition: &str) -> Result<Self> {
        let root: Value = serde_json::from_str(definition)
            .map_err(|e| KernelError::schema(format!("the Protobuf plan is not JSON: {e}")))?;
        let version = root.get("version").and_then(Value::as_str).unwrap_or_default().to_owned();
        let messages = list(&root, "messages")?.iter().map(message).collect::<Result<Vec<_>>>()?;
        let enums = list(&root, "enums")?.iter().map(|e| enumeration(e).map(Arc::new));
        let plan = Self { version, messages, enums: enums.collect::<Result<_>>()? };
        plan.root()?;
        for message in &plan.messages {
            for field in &message.fields {
                plan.check(message, field)?;
            }
        }
        Ok(plan)
    }

    fn check(&self, message: &MessagePlan, field: &FieldPlan) -> Result<()> {
        match field.kind {
            Kind::Message(index) | Kind::Group(index) => self.message(index).map(|_| ())?,
            Kind::Enum(index) => self.names(index).map(|_| ())?,
            _ => {}
        }
        if field.oneof.is_some_and(|index| index >= message.oneofs.len()) {
            return Err(KernelError::schema(format!(
                "field {}: expected its oneof in the plan, got none",
                field.name
            )));
        }
        if field.shape == Shape::Map {
            self.entry(field)?;
        }
        Ok(())
    }
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value.get(key).and_then(Value::as_array).ok_or_else(|| lacks(key, "a list"))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str> {
    value.get(key).and_then(Value::as_str).ok_or_else(|| lacks(key, "a text"))
}

fn lacks(key: &str, what: &str) -> KernelError {
    KernelError::schema(format!("the Protobuf plan: expected {what} under {key:?}"))
}

fn index(value: &Value, key: &str) -> Option<usize> {
    value.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
}

fn message(value: &Value) -> Result<MessagePlan> {
    let meaning = match value.get("meaning").and_then(Value::as_str) {
        None => Meaning::Struct,
        Some("timestamp") => Meaning::Timestamp,
        Some("duration") => Meaning::Duration,
        Some("wrapper") => Meaning::Wrapper,
        Some(_) => return Err(lacks("meaning", "a known meaning")),
    };
    let oneofs = list(value, "oneofs")?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let fields = list(value, "fields")?.iter().map(field).collect::<Result<_>>()?;
    Ok(MessagePlan { name: text(value, "name")?.to_owned(), meaning, oneofs, fields })
}

fn field(value: &Value) -> Result<FieldPlan> {
    let name = text(value, "name")?.to_owned();
    let number = value.get("number").and_then(Value::as_u64).filter(|n| (1..=MAX_NUMBER).contains(n));
    let kind = kind(value)?;
    let shape = match text(value, "shape")? {
        "implicit" => Shape::Implicit,
        "optional" => Shape::Optional,
        "required" => Shape::Required,
        "repeated" => Shape::Repeated,
        "map" => Shape::Map,
        _ => return Err(lacks("shape", "a known shape")),
    };
    Ok(FieldPlan {
        number: number.ok_or_else(|| lacks("number", "a field number"))? as u32,
        kind,
        shape,
        packed: value.get("packed").and_then(Value::as_bool).unwrap_or_default(),
        oneof: index(value, "oneof"),
        absent: match value.get("absent") {
            None | Some(Value::Null) => None,
            Some(value) => {
                let text = value.as_str().ok_or_else(|| lacks("absent", "a text"))?;
                Some(absent(kind, text).ok_or_else(|| {
                    KernelError::schema(format!("field {name}: expected a default of its type, got {text:?}"))
                })?)
            }
        },
        name,
    })
}

fn kind(value: &Value) -> Result<Kind> {
    Ok(match text(value, "kind")? {
        "double" => Kind::Double,
        "float" => Kind::Float,
        "int64" => Kind::Int64,
        "uint64" => Kind::UInt64,
        "int32" => Kind::Int32,
        "fixed64" => Kind::Fixed64,
        "fixed32" => Kind::Fixed32,
        "bool" => Kind::Bool,
        "string" => Kind::String,
        "bytes" => Kind::Bytes,
        "uint32" => Kind::UInt32,
        "sfixed32" => Kind::SFixed32,
        "sfixed64" => Kind::SFixed64,
        "sint32" => Kind::SInt32,
        "sint64" => Kind::SInt64,
        "enum" => index(value, "type").map_or(Kind::EnumNumber, Kind::Enum),
        "message" => index(value, "type").map_or(Kind::Opaque, Kind::Message),
        "group" => Kind::Group(index(value, "type").ok_or_else(|| lacks("type", "a group's message"))?),
        _ => return Err(lacks("kind", "a known kind")),
    })
}

/// Parses a default, which is text: a number in decimal (an enum by number), or bytes in base64.
fn absent(kind: Kind, text: &str) -> Option<Absent> {
    Some(Absent::Number(match kind {
        Kind::Double => text.parse::<f64>().ok()?.to_bits(),
        Kind::Float => u64::from(text.parse::<f32>().ok()?.to_bits()),
        Kind::Int64 | Kind::SFixed64 => text.parse::<i64>().ok()? as u64,
        Kind::Int32 | Kind::SFixed32 | Kind::EnumNumber | Kind::Enum(_) => text.parse::<i32>().ok()? as u64,
        Kind::UInt64 | Kind::Fixed64 => text.parse().ok()?,
        Kind::UInt32 | Kind::Fixed32 => u64::from(text.parse::<u32>().ok()?),
        Kind::SInt32 => zigzag(i64::from(text.parse::<i32>().ok()?)),
        Kind::SInt64 => zigzag(text.parse().ok()?),
        Kind::Bool => u64::from(text.parse::<bool>().ok()?),
        Kind::String => return Some(Absent::Bytes(text.as_bytes().to_vec())),
        Kind::Bytes => return Some(Absent::Bytes(STANDARD.decode(text).ok()?)),
        Kind::Message(_) | Kind::Group(_) | Kind::Opaque => return None,
    }))
}

/// Encodes a signed number so that small absolute values become small varints.
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn enumeration(value: &Value) -> Result<EnumNames> {
    let closed = value.get("closed").and_then(Value::as_bool).unwrap_or_default();
    let pair = |pair: &Value| {
        let name = pair.get(0).and_then(Value::as_str)?;
        let number = pair.get(1).and_then(Value::as_i64).and_then(|n| i32::try_from(n).ok())?;
        Some((name.to_owned(), number))
    };
    let values = list(value, "values")?.iter().map(|v| pair(v).ok_or_else(|| lacks("values", "pairs")));
    Ok(EnumNames::new(closed, values.collect::<Result<_>>()?))
}

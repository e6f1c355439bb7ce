//! Whether the columns of a JSON message tell all that the message says.
//!
//! They do not where an object has a member that is no field, or lacks a field whose default stands for it. The branch
//! of a union that an object or array belongs to depends on the reader, so these are not looked into.

use std::collections::HashMap;

use super::cursor::{JsonCursor, JsonResult, ValueStart};
use crate::avro_schema::{AvroField, AvroType};
use crate::error::Result;

/// Of one schema.
#[derive(Debug)]
pub struct JsonCompleteness {
    root: Shape,
}

/// What a value may have inside.
#[derive(Debug)]
enum Shape {
    Leaf,
    Union,
    Items(Box<Shape>),
    Values(Box<Shape>),
    Record(RecordShape),
}

#[derive(Debug)]
struct RecordShape {
    members: Vec<(Vec<u8>, Shape)>,
    by_name: HashMap<Vec<u8>, usize>,
    /// Whether the absence of some member stands for a value other than null.
    has_defaults: bool,
}

impl JsonCompleteness {
    /// Raises "schema" for a definition that is not valid.
    pub fn new(definition: &str) -> Result<Self> {
        Ok(Self { root: Shape::new(&AvroType::parse_for_json(definition)?) })
    }

    /// Whether the columns tell all of a payload. False for a text that is no JSON.
    pub fn tells_all(&self, payload: &[u8]) -> bool {
        JsonCursor::new(payload).and_then(|mut cursor| self.root.tells_all(&mut cursor)).unwrap_or(false)
    }
}

impl Shape {
    fn new(kind: &AvroType) -> Self {
        match kind {
            AvroType::Nullable { inner, .. } => Self::new(inner),
            AvroType::Array(item) => Self::Items(Box::new(Self::new(item))),
            AvroType::Map(value) => Self::Values(Box::new(Self::new(value))),
            AvroType::Record(record) => Self::Record(RecordShape::new(&record.fields)),
            AvroType::Union(_) => Self::Union,
            _ => Self::Leaf,
        }
    }

    fn tells_all(&self, cursor: &mut JsonCursor<'_>) -> JsonResult<bool> {
        let mut whole = true;
        match (self, cursor.start()?) {
            (Self::Record(record), ValueStart::Object) => return record.tells_all(cursor),
            (Self::Items(item), ValueStart::Array) => cursor.items(|cursor| {
                whole &= item.tells_all(cursor)?;
                Ok(())
            })?,
            (Self::Values(value), ValueStart::Object) => cursor.members(|cursor, _| {
                whole &= value.tells_all(cursor)?;
                Ok(())
            })?,
            (Self::Union, ValueStart::Object | ValueStart::Array) => {
                cursor.skip()?;
                whole = false;
            }
            _ => cursor.skip()?,
        }
        Ok(whole)
    }
}

impl RecordShape {
    fn new(fields: &[AvroField]) -> Self {
        let name = |field: &AvroField| field.name.clone().into_bytes();
        Self {
            members: fields.iter().map(|field| (name(field), Shape::new(&field.kind))).collect(),
            by_name: fields.iter().enumerate().map(|(index, field)| (name(field), index)).collect(),
            has_defaults: fields
                .iter()
                .any(|field| field.default.as_ref().is_some_and(|text| !text.is_null())),
        }
    }

    fn tells_all(&self, cursor: &mut JsonCursor<'_>) -> JsonResult<bool> {
        // Most objects have their members in the schema's order.
        let (mut whole, mut next, mut seen) = (true, 0, 0);
        cursor.members(|cursor, key| {
            let expected = self.members.get(next).filter(|(name, _)| **name == *key).map(|_| next);
            let found = expected.or_else(|| self.by_name.get(key.as_ref()).copied());
            let Some((index, (_, shape))) = found.and_then(|index| Some((index, self.members.get(index)?)))
            else {
                whole = false;
                return cursor.skip();
            };
            (next, seen) = (index + 1, seen + 1);
            whole &= shape.tells_all(cursor)?;
            Ok(())
        })?;
        Ok(whole && (!self.has_defaults || seen == self.members.len()))
    }
}

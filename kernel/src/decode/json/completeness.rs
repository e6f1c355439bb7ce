//! The check whether the columns of a JSON message determine its values.
//!
//! The columns are incomplete in these cases:
//!
//! * An object has a member that is not a field, or has a member twice.
//! * An object lacks a field that has a default, because the column then contains the default.
//! * A number does not have the form that the encoder writes.
//! * An object or array is a value of a union, because the reader determines its branch.

use std::collections::{HashMap, HashSet};

use super::cursor::{JsonCursor, JsonResult, ValueStart, as_text};
use crate::avro_schema::{AvroField, AvroType, LogicalType};
use crate::error::Result;

/// The check for messages of one schema.
#[derive(Debug)]
pub struct JsonCompleteness {
    root: Shape,
}

/// The values of a type whose columns are complete.
#[derive(Debug)]
enum Shape {
    /// Any value that the decoder accepts.
    Leaf,
    /// A whole number without point, exponent or quotes. Another reader may read other forms as text or as a
    /// fraction.
    Whole,
    /// A symbol from this list.
    Enum(Vec<String>),
    /// The value null.
    Null,
    Union,
    Items(Box<Shape>),
    Values(Box<Shape>),
    Record(RecordShape),
}

#[derive(Debug)]
struct RecordShape {
    members: Vec<Member>,
    by_name: HashMap<Vec<u8>, usize>,
    /// Number of members with a default.
    defaults: usize,
}

#[derive(Debug)]
struct Member {
    name: Vec<u8>,
    shape: Shape,
    /// True if the column of an absent member contains a default other than null.
    has_default: bool,
}

impl JsonCompleteness {
    /// Creates the check; returns an error of the kind `schema` if the definition is not valid.
    pub fn new(definition: &str) -> Result<Self> {
        let kind = AvroType::parse_for_json(definition)?;
        let root = RecordShape::new(kind.fields()?);
        Ok(Self { root: Shape::Record(root) })
    }

    /// Returns whether the columns determine a payload; false if the payload is not JSON.
    pub fn is_complete(&self, payload: &[u8]) -> bool {
        JsonCursor::new(payload).and_then(|mut cursor| self.root.is_complete(&mut cursor)).unwrap_or(false)
    }
}

impl Shape {
    fn new(kind: &AvroType) -> Self {
        match kind {
            AvroType::Null | AvroType::Reference(_) | AvroType::Omitted(_) => Self::Null,
            AvroType::Nullable { inner, .. } => Self::new(inner),
            AvroType::Array(item) => Self::Items(Box::new(Self::new(item))),
            AvroType::Map(value) => Self::Values(Box::new(Self::new(value))),
            AvroType::Record(record) => Self::Record(RecordShape::new(&record.fields)),
            AvroType::Union(_) => match kind.members().as_slice() {
                [only] => Self::new(only),
                _ => Self::Union,
            },
            AvroType::Enum(kind) => Self::Enum(kind.symbols.clone()),
            AvroType::Int(LogicalType::Number) | AvroType::Long(LogicalType::Number) => Self::Whole,
            _ => Self::Leaf,
        }
    }

    fn is_complete(&self, cursor: &mut JsonCursor<'_>) -> JsonResult<bool> {
        let mut whole = true;
        match (self, cursor.start()?) {
            (_, ValueStart::Null) => cursor.null()?,
            (Self::Record(record), ValueStart::Object) => return record.is_complete(cursor),
            (Self::Items(item), ValueStart::Array) => cursor.items(|cursor| {
                whole &= item.is_complete(cursor)?;
                Ok(())
            })?,
            (Self::Values(value), ValueStart::Object) => {
                let mut keys = HashSet::new();
                cursor.members(|cursor, key| {
                    // If a key is repeated, the map contains only the last entry with this key.
                    whole &= keys.insert(key);
                    whole &= value.is_complete(cursor)?;
                    Ok(())
                })?;
            }
            (Self::Whole, ValueStart::Number) => {
                let number = cursor.number()?;
                whole = number != "-0" && !number.contains(['.', 'e', 'E']);
            }
            (Self::Enum(symbols), ValueStart::Text) => {
                let text = cursor.text()?;
                whole = symbols.iter().any(|symbol| *symbol == as_text(&text));
            }
            (Self::Null | Self::Whole, _) | (Self::Union, ValueStart::Object | ValueStart::Array) => {
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
        let members: Vec<Member> = fields.iter().map(Member::new).collect();
        let by_name = members.iter().enumerate().map(|(index, member)| (member.name.clone(), index));
        Self {
            by_name: by_name.collect(),
            defaults: members.iter().filter(|member| member.has_default).count(),
            members,
        }
    }

    fn is_complete(&self, cursor: &mut JsonCursor<'_>) -> JsonResult<bool> {
        // Most objects have their members in the schema's order.
        let (mut whole, mut next, mut defaults) = (true, 0, 0);
        let mut seen = MemberSet::default();
        cursor.members(|cursor, key| {
            let expected = self.members.get(next).filter(|member| *member.name == *key).map(|_| next);
            let found = expected.or_else(|| self.by_name.get(key.as_ref()).copied());
            let Some((index, member)) = found.and_then(|index| Some((index, self.members.get(index)?)))
            else {
                whole = false;
                return cursor.skip();
            };
            next = index + 1;
            defaults += usize::from(member.has_default);
            whole &= seen.insert(index);
            whole &= member.shape.is_complete(cursor)?;
            Ok(())
        })?;
        Ok(whole && defaults == self.defaults)
    }
}

impl Member {
    fn new(field: &AvroField) -> Self {
        Self {
            name: field.name.clone().into_bytes(),
            shape: Shape::new(&field.kind),
            has_default: field.default.as_ref().is_some_and(|text| !text.is_null()),
        }
    }
}

/// A set of indexes of an object's members. Most records have at most 64 members, so that the bits of one
/// number are enough.
#[derive(Default)]
struct MemberSet {
    low: u64,
    high: HashSet<usize>,
}

impl MemberSet {
    /// Adds an index, and returns whether it is new.
    fn insert(&mut self, index: usize) -> bool {
        let Some(bit) = u32::try_from(index).ok().and_then(|shift| 1u64.checked_shl(shift)) else {
            return self.high.insert(index);
        };
        let is_new = self.low & bit == 0;
        self.low |= bit;
        is_new
    }
}

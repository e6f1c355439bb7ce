//! JSON values of unions of several types: to which branch a value belongs.
//!
//! An object whose one key names a branch is tagged, as in Avro's JSON encoding. Any other value goes to the
//! first branch, in the document's order, that it fits; a whole number goes to floats and a fraction to whole
//! numbers only where nothing nearer fits.

use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray};
use arrow_json::reader::{ArrayDecoder, DecoderContext, Tape, TapeElement};
use arrow_schema::{ArrowError, Fields};

use crate::document::AvroType;
use crate::json_union::Tags;

type Result<T> = std::result::Result<T, ArrowError>;

/// What the decoder of a union must know about its branches.
#[derive(Debug)]
pub struct UnionShape {
    /// Without null.
    members: Vec<AvroType>,
    tags: Tags,
}

impl UnionShape {
    /// Of all branches.
    pub fn new(branches: &[AvroType]) -> Self {
        let members = branches.iter().filter(|kind| **kind != AvroType::Null).cloned().collect();
        Self { members, tags: Tags::new(branches) }
    }

    /// The member and where its value lies; an error when no branch fits.
    fn choose(&self, tape: &Tape<'_>, position: u32) -> Result<(usize, u32)> {
        if let Some(tagged) = self.tagged(tape, position) {
            return Ok(tagged);
        }
        let near = self.members.iter().position(|kind| fits(kind, tape, position, false));
        let far = || self.members.iter().position(|kind| fits(kind, tape, position, true));
        near.or_else(far).map(|member| (member, position)).ok_or_else(|| {
            let names: Vec<&str> = self.members.iter().map(AvroType::branch_name).collect();
            tape.error(position, &format!("a value of a union of {}", names.join(", ")))
        })
    }

    fn tagged(&self, tape: &Tape<'_>, position: u32) -> Option<(usize, u32)> {
        let TapeElement::StartObject(end) = tape.get(position) else { return None };
        let TapeElement::String(key) = tape.get(position + 1) else { return None };
        let value = position + 2;
        let alone = position + 1 < end && tape.next(value, "a value").ok() == Some(end);
        let member = self.tags.branch(tape.get_string(key)).filter(|_| alone)?;
        Some((member, value))
    }
}

/// Whether a value can be one of `kind`; `far` allows numbers to change their kind.
fn fits(kind: &AvroType, tape: &Tape<'_>, position: u32, far: bool) -> bool {
    match tape.get(position) {
        TapeElement::True | TapeElement::False => matches!(kind, AvroType::Boolean),
        TapeElement::Number(index) => number_fits(kind, tape.get_string(index), far),
        TapeElement::String(index) => text_fits(kind, tape.get_string(index)),
        TapeElement::StartList(_) => matches!(kind, AvroType::Array(_)),
        TapeElement::StartObject(end) => match kind {
            AvroType::Map(_) => true,
            AvroType::Record(record) => {
                far || keys(tape, position, end).all(|key| record.fields.iter().any(|f| f.name == key))
            }
            _ => false,
        },
        _ => false,
    }
}

fn number_fits(kind: &AvroType, text: &str, far: bool) -> bool {
    let whole = !text.contains(['.', 'e', 'E']);
    match kind {
        AvroType::Int(_) if whole => text.parse::<i32>().is_ok(),
        AvroType::Long(_) if whole => text.parse::<i64>().is_ok(),
        AvroType::Int(_) | AvroType::Long(_) => far && text.parse::<f64>().is_ok_and(|v| v.fract() == 0.0),
        AvroType::Float | AvroType::Double => far || !whole,
        AvroType::Decimal { .. } => true,
        _ => false,
    }
}

fn text_fits(kind: &AvroType, text: &str) -> bool {
    match kind {
        AvroType::String | AvroType::Bytes | AvroType::Fixed(_) => true,
        AvroType::Uuid(_) => text.len() == 36,
        AvroType::Enum(kind) => kind.symbols.iter().any(|symbol| symbol == text),
        AvroType::Float | AvroType::Double => matches!(text, "NaN" | "Infinity" | "-Infinity"),
        _ => false,
    }
}

/// The keys of the object between two positions.
fn keys<'a>(tape: &'a Tape<'_>, start: u32, end: u32) -> impl Iterator<Item = &'a str> {
    let mut position = start + 1;
    std::iter::from_fn(move || {
        let TapeElement::String(key) = tape.get(position) else { return None };
        if position >= end {
            return None;
        }
        position = tape.next(position + 1, "a value").unwrap_or(end);
        Some(tape.get_string(key))
    })
}

/// Decodes a union to a struct with one member for each branch.
pub struct UnionValues {
    shape: Arc<UnionShape>,
    fields: Fields,
    members: Vec<Box<dyn ArrayDecoder>>,
}

impl UnionValues {
    /// `fields` are the members, in the order of the branches.
    pub fn new(context: &DecoderContext, shape: &Arc<UnionShape>, fields: &Fields) -> Result<Self> {
        let members = fields.iter().map(|field| context.make_decoder(field, true));
        let members = members.collect::<Result<Vec<_>>>()?;
        if members.len() != shape.members.len() {
            return Err(ArrowError::SchemaError("a union with another number of members".into()));
        }
        Ok(Self { shape: shape.clone(), fields: fields.clone(), members })
    }
}

impl ArrayDecoder for UnionValues {
    fn decode(&mut self, tape: &Tape<'_>, positions: &[u32]) -> Result<ArrayRef> {
        // Position 0 is a null of the tape's own.
        let mut members = vec![vec![0u32; positions.len()]; self.members.len()];
        let mut valid = Vec::with_capacity(positions.len());
        for (row, &position) in positions.iter().enumerate() {
            let null = matches!(tape.get(position), TapeElement::Null);
            valid.push(!null);
            if null {
                continue;
            }
            let (member, value) = self.shape.choose(tape, position)?;
            if matches!(tape.get(value), TapeElement::Null) {
                return Err(tape.error(value, "a value behind the name of a union's branch"));
            }
            if let Some(slot) = members.get_mut(member).and_then(|rows| rows.get_mut(row)) {
                *slot = value;
            }
        }
        let columns = self.members.iter_mut().zip(&members).map(|(decoder, rows)| decoder.decode(tape, rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), columns, Some(valid.into()))?))
    }
}

//! The column of a field under construction, of any shape.
//!
//! A message may contain fields in any order, several times, and in pieces. So a row stays open until its message ends.
//! Until then, scalars may be set again, messages merge, lists grow, and the member of a oneof may be removed.
//!
//! A column has a value for the open row if the column's length is greater than the number of the row. Lists
//! and maps append their items immediately, and end a row by its offset.

use arrow_array::ArrayRef;

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::leaf::ScalarColumn;
use super::list::{MapColumn, RepeatedColumn};
use super::message::MessageColumn;
use super::time::TimeColumn;
use crate::error::Result;
use crate::protobuf::{
    DELIMITED, FieldPlan, GROUP, Kind, Meaning, ProtobufPlan, Shape, VARINT, nested, wrapped,
};

/// The column of a field.
#[derive(Debug)]
pub enum FieldColumn {
    /// A scalar.
    Leaf(ScalarColumn),
    /// The scalar in a wrapper message.
    Wrapped(ScalarColumn),
    /// A timestamp or a duration.
    Times(TimeColumn),
    /// A message as a struct.
    Message(Box<MessageColumn>),
    /// A message between group tags, with the field number.
    Group(Box<MessageColumn>, u32),
    /// A repeated field.
    List(Box<RepeatedColumn>),
    /// A map.
    Map(Box<MapColumn>),
    /// A field without a column, which is only needed as a member of a oneof that removes its siblings.
    Skipped,
}

impl FieldColumn {
    /// Creates a column for the whole `field`.
    pub fn new(plan: &ProtobufPlan, field: &FieldPlan, depth: usize) -> Result<Self> {
        Ok(match field.shape {
            Shape::Repeated => Self::List(Box::new(RepeatedColumn::new(Self::item(plan, field, depth)?))),
            Shape::Map => {
                let (key, value) = plan.entry(field)?;
                Self::Map(Box::new(MapColumn::new(
                    ScalarColumn::new(plan, key)?,
                    Self::item(plan, value, depth)?,
                )))
            }
            _ => Self::item(plan, field, depth)?,
        })
    }

    /// Creates a column for single items of `field`.
    fn item(plan: &ProtobufPlan, field: &FieldPlan, depth: usize) -> Result<Self> {
        let depth = nested(field, depth)?;
        let (Kind::Message(index) | Kind::Group(index)) = field.kind else {
            return Ok(Self::Leaf(ScalarColumn::new(plan, field)?));
        };
        let message = plan.message(index)?;
        Ok(match (message.meaning, field.kind) {
            (Meaning::Struct, Kind::Group(_)) => {
                Self::Group(Box::new(MessageColumn::new(plan, message, depth)?), field.number)
            }
            (Meaning::Timestamp, _) => Self::Times(TimeColumn::new(false)),
            (Meaning::Duration, _) => Self::Times(TimeColumn::new(true)),
            (Meaning::Wrapper, _) => Self::Wrapped(ScalarColumn::new(plan, wrapped(message)?)?),
            (Meaning::Struct, _) => Self::Message(Box::new(MessageColumn::new(plan, message, depth)?)),
        })
    }

    /// Returns the wire type of a single value.
    pub fn wire(&self) -> u32 {
        match self {
            Self::Leaf(leaf) => leaf.wire,
            Self::Group(_, _) => GROUP,
            Self::List(list) => list.items.wire(),
            Self::Skipped => VARINT,
            _ => DELIMITED,
        }
    }

    /// Returns the number of rows, including the open row if it has a value; for lists and maps, only closed rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Leaf(leaf) | Self::Wrapped(leaf) => leaf.len(),
            Self::Times(times) => times.len(),
            Self::Message(message) | Self::Group(message, _) => message.len(),
            Self::List(list) => list.len(),
            Self::Map(map) => map.len(),
            Self::Skipped => 0,
        }
    }

    /// Reads one occurrence of the field into `row`; the cursor must be after its tag.
    #[inline]
    pub fn read(&mut self, row: usize, tag: u32, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<()> {
        let wire = tag & 7;
        match self {
            Self::Leaf(leaf) if leaf.wire == wire => read_leaf(leaf, row, cursor),
            Self::List(list) => list.read(tag, cursor),
            Self::Message(message) if wire == DELIMITED => message.read(row, &mut cursor.message()?),
            Self::Times(times) if wire == DELIMITED => times.read(row, cursor.message()?),
            Self::Wrapped(leaf) if wire == DELIMITED => read_wrapped(leaf, row, cursor.message()?),
            Self::Map(map) if wire == DELIMITED => map.read(cursor.message()?),
            Self::Group(message, number) if wire == GROUP => message.read_group(row, *number, cursor),
            Self::Skipped => cursor.skip(tag),
            other => cursor.fault(format!("expected wire type {}, got {wire}", other.wire())),
        }
    }

    /// Sets the value of `row` to an empty value if it has none.
    pub fn ensure_value(&mut self, row: usize, cursor: &ProtobufCursor<'_>) -> ProtobufResult<()> {
        match self {
            Self::Leaf(leaf) => leaf.end_row(row).or_else(|why| cursor.fault(why)),
            Self::Wrapped(leaf) => leaf.ensure_value(row).or_else(|why| cursor.fault(why)),
            Self::Times(times) => {
                times.ensure_value(row);
                Ok(())
            }
            Self::Message(message) | Self::Group(message, _) => {
                message.ensure_value(row);
                Ok(())
            }
            Self::List(_) | Self::Map(_) | Self::Skipped => Ok(()),
        }
    }

    /// Ends `row`; a row without a value gets the field's default or null.
    #[inline]
    pub fn end_row(&mut self, row: usize) -> std::result::Result<(), String> {
        match self {
            Self::Leaf(leaf) => leaf.end_row(row),
            Self::Message(message) | Self::Group(message, _) => message.end_row(row),
            Self::List(list) => list.end_row(),
            Self::Map(map) => map.end_row(),
            Self::Wrapped(leaf) if leaf.len() <= row => {
                leaf.push_null();
                Ok(())
            }
            Self::Times(times) if times.len() <= row => {
                times.push_null();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Appends a null row.
    pub fn push_null(&mut self) {
        match self {
            Self::Leaf(leaf) | Self::Wrapped(leaf) => leaf.push_null(),
            Self::Times(times) => times.push_null(),
            Self::Message(message) | Self::Group(message, _) => message.push_null(),
            Self::List(list) => list.push_null(),
            Self::Map(map) => map.push_null(),
            Self::Skipped => {}
        }
    }

    /// Truncates the column to its first `rows` closed rows, and removes the items of an open row.
    pub fn truncate(&mut self, rows: usize) {
        match self {
            Self::Leaf(leaf) | Self::Wrapped(leaf) => leaf.truncate(rows),
            Self::Times(times) => times.truncate(rows),
            Self::Message(message) | Self::Group(message, _) => message.truncate(rows),
            Self::List(list) => list.truncate(rows),
            Self::Map(map) => map.truncate(rows),
            Self::Skipped => {}
        }
    }

    /// Returns the values as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        match self {
            Self::Leaf(leaf) | Self::Wrapped(leaf) => leaf.finish(),
            Self::Times(times) => Ok(times.finish()),
            Self::Message(message) | Self::Group(message, _) => message.finish(),
            Self::List(list) => list.finish(),
            Self::Map(map) => map.finish(),
            Self::Skipped => Ok(arrow_array::new_null_array(&arrow_schema::DataType::Null, 0)),
        }
    }
}

/// Reads a value of the leaf's own wire type into `row`.
#[inline]
pub fn read_leaf(leaf: &mut ScalarColumn, row: usize, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<()> {
    let outcome = match leaf.wire {
        DELIMITED => leaf.set_bytes(row, cursor.delimited()?),
        wire => leaf.set_number(row, cursor.number(wire)?),
    };
    outcome.or_else(|why| cursor.fault(why))
}

fn read_wrapped(leaf: &mut ScalarColumn, row: usize, mut message: ProtobufCursor<'_>) -> ProtobufResult<()> {
    leaf.ensure_value(row).or_else(|why| message.fault(why))?;
    while !message.is_empty() {
        let tag = message.tag()?;
        if tag == (1 << 3 | leaf.wire) {
            read_leaf(leaf, row, &mut message)?;
        } else if tag >> 3 == 1 {
            return message.fault(format!("expected wire type {}, got {}", leaf.wire, tag & 7));
        } else {
            message.skip(tag)?;
        }
    }
    Ok(())
}

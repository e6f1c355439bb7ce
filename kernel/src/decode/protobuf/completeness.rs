//! Whether the columns of a Protobuf message tell all that the message says.
//!
//! They do not where the message has a field that the plan does not know, carries the value that an absent field stands
//! for, or a time of which digits are cut. Groups are not looked into, nor messages whose absent fields stand for a
//! default of the writer's choice.

use std::collections::HashMap;

use super::cursor::{ProtobufCursor, ProtobufResult};
use crate::error::Result;
use crate::protobuf::{Absent, DELIMITED, FieldPlan, Kind, Meaning, ProtobufPlan, Shape, VARINT, wrapped};

const NANOS_PER_MICRO: u64 = 1000;
/// Messages inside each other; nothing deeper has a column.
const MAX_DEPTH: usize = 100;

/// Of one plan.
#[derive(Debug)]
pub struct ProtobufCompleteness {
    messages: Vec<MessageShape>,
}

#[derive(Debug)]
struct MessageShape {
    is_time: bool,
    has_defaults: bool,
    fields: HashMap<u32, FieldShape>,
}

#[derive(Debug)]
struct FieldShape {
    wire: u32,
    absent: Option<Absent>,
    message: Option<usize>,
}

impl ProtobufCompleteness {
    /// Raises "schema" for a definition that is no plan.
    pub fn new(definition: &str) -> Result<Self> {
        let plan = ProtobufPlan::parse(definition)?;
        let mut messages = Vec::with_capacity(plan.messages.len());
        for message in &plan.messages {
            let is_time = matches!(message.meaning, Meaning::Timestamp | Meaning::Duration);
            let fields = match message.meaning {
                Meaning::Wrapper => vec![wrapped(message)?],
                _ => message.fields.iter().collect(),
            };
            let has_defaults = fields.iter().any(|f| f.shape == Shape::Optional && f.absent.is_some());
            let fields = fields.into_iter().map(|field| (field.number, FieldShape::new(field))).collect();
            messages.push(MessageShape { is_time, has_defaults, fields });
        }
        for field in plan.messages.iter().flat_map(|message| &message.fields) {
            if let (Shape::Map, Kind::Message(entry)) = (field.shape, field.kind)
                && let Some(entry) = messages.get_mut(entry)
            {
                // Writers of entries leave nothing out.
                entry.fields.values_mut().for_each(|side| side.absent = None);
            }
        }
        Ok(Self { messages })
    }

    /// Whether the columns tell all of a payload. False for bytes that are no message.
    pub fn tells_all(&self, payload: &[u8]) -> bool {
        self.message(0, 0, &mut ProtobufCursor::new(payload)).unwrap_or(false)
    }

    fn message(&self, index: usize, depth: usize, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<bool> {
        let Some(shape) = self.messages.get(index) else { return Ok(false) };
        if shape.is_time {
            return time(cursor);
        }
        if shape.has_defaults || depth > MAX_DEPTH {
            return Ok(false);
        }
        while !cursor.is_empty() {
            let tag = cursor.tag()?;
            let Some(field) = shape.fields.get(&(tag >> 3)) else { return Ok(false) };
            if !self.field(field, tag & 7, depth, cursor)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn field(
        &self,
        field: &FieldShape,
        wire: u32,
        depth: usize,
        cursor: &mut ProtobufCursor<'_>,
    ) -> ProtobufResult<bool> {
        match (field.message, wire) {
            (Some(index), DELIMITED) => self.message(index, depth + 1, &mut cursor.message()?),
            (Some(_), _) => Ok(false),
            // A packed list, or content.
            (None, DELIMITED) => {
                let content = cursor.delimited()?;
                Ok(!matches!(&field.absent, Some(Absent::Bytes(bytes)) if bytes == content))
            }
            (None, _) if wire == field.wire => {
                let number = cursor.number(wire)?;
                Ok(!matches!(&field.absent, Some(Absent::Number(absent)) if *absent == number))
            }
            _ => Ok(false),
        }
    }
}

impl FieldShape {
    fn new(field: &FieldPlan) -> Self {
        let message = match field.kind {
            Kind::Message(index) => Some(index),
            _ => None,
        };
        Self { wire: field.kind.wire(), absent: field.absent.clone(), message }
    }
}

/// Seconds and nanoseconds, of which a column has microseconds.
fn time(cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<bool> {
    while !cursor.is_empty() {
        let tag = cursor.tag()?;
        if !matches!(tag >> 3, 1 | 2) || tag & 7 != VARINT {
            return Ok(false);
        }
        let number = cursor.number(VARINT)?;
        if tag >> 3 == 2 && number % NANOS_PER_MICRO != 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

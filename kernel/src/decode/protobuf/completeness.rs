//! The check whether the columns of a Protobuf message determine its bytes.
//!
//! Columns are complete if the encoder writes exactly the same bytes from them. Then every other schema reads the same
//! values from the columns and from the message.
//!
//! The encoder writes each known field once, in the order of the numbers, and in as few bytes as possible.
//! For a field without presence, the encoder omits zero. Most official libraries write such messages.
//!
//! The check always treats the columns of messages with groups as incomplete.

use std::collections::HashSet;
use std::sync::Arc;

use super::cursor::{ProtobufCursor, ProtobufResult};
use crate::error::Result;
use crate::protobuf::names::EnumNames;
use crate::protobuf::{
    Absent, DELIMITED, FieldPlan, GROUP, Kind, Meaning, MessagePlan, ProtobufPlan, Shape, VARINT, wrapped,
};

const NANOS_PER_MICRO: i32 = 1000;
const NANOS_PER_SECOND: i32 = 1_000_000_000;
/// Depth limit for nested messages; deeper messages have no columns.
const MAX_DEPTH: usize = 100;

/// The check for messages of one plan.
#[derive(Debug)]
pub struct ProtobufCompleteness {
    messages: Vec<MessageShape>,
}

#[derive(Debug)]
struct MessageShape {
    meaning: Meaning,
    /// Fields in ascending order of their numbers.
    fields: Vec<FieldShape>,
}

#[derive(Debug)]
struct FieldShape {
    number: u32,
    /// Wire type of the field, or of the items of a packed list.
    wire: u32,
    is_packed: bool,
    /// True if a message may contain the field several times.
    is_list: bool,
    is_map: bool,
    /// True if the encoder writes the field into every message.
    is_always_written: bool,
    oneof: Option<usize>,
    /// Value that the encoder omits.
    zero: Option<Absent>,
    value: ValueShape,
}

#[derive(Debug)]
enum ValueShape {
    /// A varint in the range of its kind.
    Number(Kind),
    /// A varint that is the number of a name.
    Enum(Arc<EnumNames>),
    /// Any number or bytes.
    Any,
    Message(usize),
}

impl ProtobufCompleteness {
    /// Creates the check; returns an error of the kind `schema` if the definition is not a plan.
    pub fn new(definition: &str) -> Result<Self> {
        let plan = ProtobufPlan::parse(definition)?;
        let mut messages =
            plan.messages.iter().map(|m| MessageShape::new(&plan, m)).collect::<Result<Vec<_>>>()?;
        for field in plan.messages.iter().flat_map(|message| &message.fields) {
            if let (Shape::Map, Kind::Message(entry)) = (field.shape, field.kind)
                && let Some(entry) = messages.get_mut(entry)
            {
                for side in &mut entry.fields {
                    (side.is_always_written, side.zero) = (true, None);
                }
            }
        }
        Ok(Self { messages })
    }

    /// Returns whether the columns determine a payload.
    ///
    /// The result is false for bytes that are not a message. It is also false for an empty payload, because a null
    /// value may have the same columns.
    pub fn is_complete(&self, payload: &[u8]) -> bool {
        !payload.is_empty()
            && self.is_message_complete(0, 0, &mut ProtobufCursor::new(payload)).unwrap_or(false)
    }

    fn is_message_complete<'a>(
        &self,
        index: usize,
        depth: usize,
        cursor: &mut ProtobufCursor<'a>,
    ) -> ProtobufResult<bool> {
        let Some(shape) = self.messages.get(index).filter(|_| depth <= MAX_DEPTH) else { return Ok(false) };
        if matches!(shape.meaning, Meaning::Timestamp | Meaning::Duration) {
            return is_time_complete(cursor, shape.meaning == Meaning::Duration);
        }
        let mut remaining = shape.fields.as_slice();
        let mut oneofs = Vec::new();
        let mut keys: HashSet<&'a [u8]> = HashSet::new();
        while !cursor.is_empty() {
            let is_shortest = cursor.is_shortest();
            let tag = cursor.tag()?;
            let skipped = remaining.iter().take_while(|field| field.number < tag >> 3).count();
            let (absent, rest) = remaining.split_at(skipped);
            let Some(field) = rest.first().filter(|field| field.number == tag >> 3) else { return Ok(false) };
            if !is_shortest || absent.iter().any(|field| field.is_always_written) {
                return Ok(false);
            }
            if let Some(oneof) = field.oneof {
                if oneofs.contains(&oneof) {
                    return Ok(false);
                }
                oneofs.push(oneof);
            }
            if skipped > 0 {
                keys.clear();
            }
            let is_complete = match &field.value {
                ValueShape::Message(index) => {
                    self.is_item_complete(field, *index, tag & 7, depth, cursor, &mut keys)?
                }
                _ => field.is_complete(tag & 7, cursor)?,
            };
            if !is_complete {
                return Ok(false);
            }
            remaining = if field.is_list { rest } else { rest.get(1..).unwrap_or_default() };
        }
        Ok(!remaining.iter().any(|field| field.is_always_written))
    }

    /// Returns whether the columns determine a message in a field; `keys` are the keys of earlier entries in a map.
    fn is_item_complete<'a>(
        &self,
        field: &FieldShape,
        index: usize,
        wire: u32,
        depth: usize,
        cursor: &mut ProtobufCursor<'a>,
        keys: &mut HashSet<&'a [u8]>,
    ) -> ProtobufResult<bool> {
        if wire != DELIMITED || !cursor.is_shortest() {
            return Ok(false);
        }
        let mut message = cursor.message()?;
        // If a key is repeated, the map contains only the last entry with this key.
        let is_new = !field.is_map || keys.insert(message.next_field()?);
        Ok(is_new && self.is_message_complete(index, depth + 1, &mut message)?)
    }
}

impl MessageShape {
    fn new(plan: &ProtobufPlan, message: &MessagePlan) -> Result<Self> {
        let fields = match message.meaning {
            Meaning::Wrapper => vec![wrapped(message)?],
            _ => message.fields.iter().collect(),
        };
        let mut fields: Vec<_> =
            fields.into_iter().map(|field| FieldShape::new(plan, field)).collect::<Result<_>>()?;
        fields.sort_by_key(|field| field.number);
        Ok(Self { meaning: message.meaning, fields })
    }
}

impl FieldShape {
    fn new(plan: &ProtobufPlan, field: &FieldPlan) -> Result<Self> {
        let value = match field.kind {
            Kind::Message(index) => ValueShape::Message(index),
            Kind::Enum(index) => ValueShape::Enum(plan.names(index)?.clone()),
            kind if kind.wire() == VARINT => ValueShape::Number(kind),
            _ => ValueShape::Any,
        };
        let is_list = matches!(field.shape, Shape::Repeated | Shape::Map);
        let is_packed = field.shape == Shape::Repeated && field.packed && field.kind.is_packable();
        Ok(Self {
            number: field.number,
            wire: field.kind.wire(),
            is_packed,
            is_list: is_list && !is_packed,
            is_map: field.shape == Shape::Map,
            // If the message lacks the field, the column contains the default from the schema.
            is_always_written: field.shape == Shape::Optional && field.absent.is_some(),
            oneof: field.oneof,
            zero: field.absent.clone().filter(|_| field.shape == Shape::Implicit),
            value,
        })
    }
}

impl FieldShape {
    /// Reads a field that is not a message, and returns whether the encoder writes it in the same way.
    fn is_complete(&self, wire: u32, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<bool> {
        let expected = if self.is_packed { DELIMITED } else { self.wire };
        if wire != expected || wire == GROUP || (wire == DELIMITED && !cursor.is_shortest()) {
            return Ok(false);
        }
        if self.is_packed {
            let mut items = cursor.message()?;
            let mut whole = !items.is_empty();
            while whole && !items.is_empty() {
                whole = self.value.read_complete(self.wire, &mut items)?.is_some();
            }
            return Ok(whole);
        }
        let is_zero = match wire {
            DELIMITED => {
                let content = cursor.delimited()?;
                matches!(&self.zero, Some(Absent::Bytes(zero)) if zero == content)
            }
            _ => match self.value.read_complete(wire, cursor)? {
                Some(raw) => self.zero == Some(Absent::Number(raw)),
                None => return Ok(false),
            },
        };
        Ok(!is_zero)
    }
}

impl ValueShape {
    /// Reads a number, or returns `None` if the encoder would write other bytes from its column.
    fn read_complete(&self, wire: u32, cursor: &mut ProtobufCursor<'_>) -> ProtobufResult<Option<u64>> {
        let is_shortest = wire != VARINT || cursor.is_shortest();
        let raw = cursor.number(wire)?;
        let is_signed = raw as i32 as i64 as u64 == raw;
        let is_held = match self {
            Self::Number(Kind::Int32 | Kind::EnumNumber) => is_signed,
            Self::Number(Kind::UInt32 | Kind::SInt32) => u32::try_from(raw).is_ok(),
            Self::Number(Kind::Bool) => raw <= 1,
            Self::Enum(names) => is_signed && names.holds(raw as i32),
            _ => true,
        };
        Ok((is_shortest && is_held).then_some(raw))
    }
}

/// Returns whether a column of microseconds determines a message of seconds and nanoseconds.
fn is_time_complete(cursor: &mut ProtobufCursor<'_>, is_duration: bool) -> ProtobufResult<bool> {
    let mut parts = [0i64; 2];
    let mut next = 1;
    while !cursor.is_empty() {
        let is_tag_shortest = cursor.is_shortest();
        let tag = cursor.tag()?;
        if !is_tag_shortest || tag & 7 != VARINT || !(next..=2).contains(&(tag >> 3)) || !cursor.is_shortest()
        {
            return Ok(false);
        }
        let raw = cursor.varint()? as i64;
        if raw == 0 {
            return Ok(false);
        }
        if let Some(part) = parts.get_mut((tag >> 3) as usize - 1) {
            *part = raw;
        }
        next = (tag >> 3) + 1;
    }
    let [seconds, nanos] = parts;
    let Ok(nanos) = i32::try_from(nanos) else { return Ok(false) };
    let fits = match is_duration {
        // Both parts must have the same sign.
        true => (seconds >= 0 || nanos <= 0) && (seconds <= 0 || nanos >= 0) && nanos > -NANOS_PER_SECOND,
        false => nanos >= 0,
    };
    Ok(fits && nanos < NANOS_PER_SECOND && nanos % NANOS_PER_MICRO == 0)
}

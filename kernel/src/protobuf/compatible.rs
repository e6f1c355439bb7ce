//! Check whether the plan of one schema version can read messages of another, by Protobuf's own rules for
//! field numbers.
//! <https://protobuf.dev/programming-guides/proto3/#updating>

use std::collections::HashSet;

use super::{FieldPlan, Kind, ProtobufPlan, Shape};
use crate::error::{KernelError, Result};

impl ProtobufPlan {
    /// Fails for the first field whose bytes would be read as a different value.
    pub fn check_reads(&self, writer: &Self) -> Result<()> {
        let mut check = Check { reader: self, writer, seen: HashSet::new() };
        check.messages(0, 0, "")
    }
}

struct Check<'a> {
    reader: &'a ProtobufPlan,
    writer: &'a ProtobufPlan,
    seen: HashSet<(usize, usize)>,
}

impl Check<'_> {
    fn messages(&mut self, reader: usize, writer: usize, path: &str) -> Result<()> {
        if !self.seen.insert((reader, writer)) {
            return Ok(());
        }
        for field in &self.reader.message(reader)?.fields {
            let written = self.writer.message(writer)?.fields.iter().find(|f| f.number == field.number);
            let Some(written) = written else { continue };
            let path = format!("{path}{}", field.name);
            if !Self::fits(field, written) {
                return Err(KernelError::schema(format!(
                    "field {path} (number {}): expected {} as in {}, got {}",
                    field.number,
                    describe(field),
                    self.reader_name(),
                    describe(written),
                )));
            }
            if let (Some(reader), Some(writer)) = (message_of(field), message_of(written)) {
                self.messages(reader, writer, &format!("{path}."))?;
            }
        }
        Ok(())
    }

    fn reader_name(&self) -> String {
        match self.reader.version.as_str() {
            "" => "the reader's schema".to_owned(),
            version => format!("schema version {version}"),
        }
    }

    fn fits(reader: &FieldPlan, writer: &FieldPlan) -> bool {
        let listed = |field: &FieldPlan| matches!(field.shape, Shape::Repeated | Shape::Map);
        // A reader that expects single numbers would read a packed list as one value.
        if !listed(reader) && listed(writer) && writer.packed {
            return false;
        }
        let delimited = [reader, writer].map(|field| matches!(family(field.kind), 6..=8));
        // The reader can read a text as bytes, and also a message whose type is unknown. A text can never be
        // read as a message.
        let text_as_message = matches!((family(reader.kind), family(writer.kind)), (6, 8) | (8, 6));
        family(reader.kind) == family(writer.kind) || (delimited == [true, true] && !text_as_message)
    }
}

fn message_of(field: &FieldPlan) -> Option<usize> {
    match field.kind {
        Kind::Message(index) | Kind::Group(index) => Some(index),
        _ => None,
    }
}

/// Returns a number for the family of a kind. A value of one kind can be read as any kind of the same family,
/// and is cut to the reader's width.
fn family(kind: Kind) -> u8 {
    match kind {
        Kind::Int32 | Kind::Int64 | Kind::UInt32 | Kind::UInt64 | Kind::Bool => 0,
        Kind::Enum(_) | Kind::EnumNumber => 0,
        Kind::SInt32 | Kind::SInt64 => 1,
        Kind::Fixed32 | Kind::SFixed32 => 2,
        Kind::Fixed64 | Kind::SFixed64 => 3,
        Kind::Float => 4,
        Kind::Double => 5,
        Kind::String => 6,
        Kind::Bytes | Kind::Opaque => 7,
        Kind::Message(_) => 8,
        Kind::Group(_) => 9,
    }
}

fn describe(field: &FieldPlan) -> String {
    let kind = match field.kind {
        Kind::Enum(_) | Kind::EnumNumber => "enum".to_owned(),
        Kind::Message(_) | Kind::Opaque => "message".to_owned(),
        Kind::Group(_) => "group".to_owned(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    match (field.shape, field.packed) {
        (Shape::Map, _) => "map".to_owned(),
        (Shape::Repeated, true) => format!("packed repeated {kind}"),
        (Shape::Repeated, false) => format!("repeated {kind}"),
        _ => kind,
    }
}

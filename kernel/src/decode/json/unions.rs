//! JSON values of unions of several types: to which branch a value belongs.
//!
//! An object whose one key names a branch is tagged, as in Avro's JSON encoding. Any other value goes to the
//! first branch, in the schema's order, that it fits; a whole number goes to floats and a fraction to whole
//! numbers only where nothing nearer fits.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::cursor::{JsonCursor, JsonResult, ValueStart, as_text};
use super::exact_number::WrittenNumber;
use super::records::RecordColumn;
use super::values::read;
use crate::avro_schema::AvroType;
use crate::avro_schema::json_tags::BranchTags;

/// What the decoder of a union must know about its branches.
#[derive(Debug)]
pub struct UnionShape {
    /// Without null.
    members: Vec<AvroType>,
    tags: BranchTags,
}

/// A value with the name of its branch.
struct Tagged<'a> {
    member: usize,
    value: JsonCursor<'a>,
    /// Behind the object around it.
    end: JsonCursor<'a>,
}

impl UnionShape {
    /// Of all branches.
    pub fn new(branches: &[AvroType]) -> Self {
        let members = branches.iter().filter(|kind| **kind != AvroType::Null).cloned().collect();
        Self { members, tags: BranchTags::new(branches) }
    }

    /// The index of a member's column; `None` for one that has none.
    fn place(&self, member: usize) -> Option<usize> {
        self.members.get(member).filter(|kind| kind.is_held())?;
        Some(self.members.iter().take(member).filter(|kind| kind.is_held()).count())
    }

    fn tagged<'a>(&self, mut cursor: JsonCursor<'a>) -> JsonResult<Option<Tagged<'a>>> {
        cursor.open();
        if !cursor.more(true, b'}')? {
            return Ok(None);
        }
        let Some(member) = self.tags.branch(as_text(&cursor.key()?)) else { return Ok(None) };
        let value = cursor;
        cursor.skip()?;
        let is_only_member = !cursor.more(false, b'}')?;
        Ok(is_only_member.then_some(Tagged { member, value, end: cursor }))
    }

    /// The member that the value at the cursor belongs to.
    fn choose(&self, cursor: JsonCursor<'_>, start: ValueStart) -> JsonResult<usize> {
        for far in [false, true] {
            for (member, kind) in self.members.iter().enumerate() {
                if fits(kind, cursor, start, far)? {
                    return Ok(member);
                }
            }
        }
        let names: Vec<&str> = self.members.iter().map(AvroType::branch_name).collect();
        cursor.expected(&format!("a value of a union of {}", names.join(", ")))
    }
}

/// Append the value at the cursor to the member it belongs to.
pub fn union(
    shape: &UnionShape,
    members: &mut RecordColumn,
    cursor: &mut JsonCursor<'_>,
    start: ValueStart,
) -> JsonResult<()> {
    let tagged = if start == ValueStart::Object { shape.tagged(*cursor)? } else { None };
    let (member, mut value) = match &tagged {
        Some(tagged) => (tagged.member, tagged.value),
        None => (shape.choose(*cursor, start)?, *cursor),
    };
    if tagged.is_some() && value.start()? == ValueStart::Null {
        return value.expected("a value behind the name of a union's branch");
    }
    match shape.place(member).and_then(|place| members.children.get_mut(place)) {
        Some(column) => read(column, false, &mut value)?,
        None => value.skip()?,
    }
    *cursor = tagged.map_or(value, |tagged| tagged.end);
    match shape.place(member) {
        Some(_) => members.close(1, cursor),
        None => {
            members.append_null();
            Ok(())
        }
    }
}

/// Whether a value can be one of `kind`; `far` allows numbers to change their kind.
fn fits(kind: &AvroType, mut cursor: JsonCursor<'_>, start: ValueStart, far: bool) -> JsonResult<bool> {
    Ok(match (start, kind) {
        (_, AvroType::Omitted(kind)) => fits(kind, cursor, start, far)?,
        (ValueStart::Boolean, _) => matches!(kind, AvroType::Boolean),
        (ValueStart::Number, _) => number_fits(kind, cursor.number()?, far),
        (ValueStart::Text, _) => text_fits(kind, as_text(&cursor.text()?)),
        (ValueStart::Array, _) => matches!(kind, AvroType::Array(_)),
        (ValueStart::Object, AvroType::Map(_)) => true,
        (ValueStart::Object, AvroType::Record(_)) if far => true,
        (ValueStart::Object, AvroType::Record(record)) => {
            let mut known = true;
            cursor.members(|cursor, key| {
                known &= record.fields.iter().any(|field| field.name.as_bytes() == key.as_ref());
                cursor.skip()
            })?;
            known
        }
        _ => false,
    })
}

fn number_fits(kind: &AvroType, text: &str, far: bool) -> bool {
    let whole = !text.contains(['.', 'e', 'E']);
    let Some(number) = WrittenNumber::parse(text) else { return false };
    match kind {
        AvroType::Int(_) => (whole || far) && number.integer().is_some_and(|n| i32::try_from(n).is_ok()),
        AvroType::Long(_) => (whole || far) && number.integer().is_some(),
        AvroType::Float | AvroType::Double => far || !whole,
        AvroType::Decimal(decimal) => {
            decimal.digits().is_none_or(|(precision, scale)| number.decimal(precision, scale).is_some())
        }
        AvroType::DecimalText(_) => true,
        _ => false,
    }
}

fn text_fits(kind: &AvroType, text: &str) -> bool {
    match kind {
        AvroType::String => true,
        AvroType::Bytes => STANDARD.decode(text).is_ok(),
        AvroType::Fixed(fixed) => {
            STANDARD.decode(text).is_ok_and(|bytes| i32::try_from(bytes.len()) == Ok(fixed.size))
        }
        AvroType::Uuid(_) => text.len() == 36,
        AvroType::Enum(kind) => kind.symbols.iter().any(|symbol| symbol == text),
        AvroType::Float | AvroType::Double => matches!(text, "NaN" | "Infinity" | "-Infinity"),
        _ => false,
    }
}

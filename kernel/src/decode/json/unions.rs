//! The decoder of JSON values of unions with several types, which determines the branch of each value.
//!
//! An object whose only key is the name of a branch is a tagged value, as in Avro's JSON encoding. Any other
//! value belongs to the first branch of the schema that the value fits. Only if no branch fits, whole numbers
//! are also accepted as floats, and fractions as integers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::cursor::{JsonCursor, JsonResult, ValueStart, as_text};
use super::exact_number::WrittenNumber;
use super::records::RecordColumn;
use super::values::read;
use crate::avro_schema::AvroType;
use crate::avro_schema::json_tags::BranchTags;

/// The branches of a union, and their tags.
#[derive(Debug)]
pub struct UnionShape {
    /// Branches without null.
    members: Vec<AvroType>,
    tags: BranchTags,
}

/// A value in an object with the name of its branch.
struct Tagged<'a> {
    member: usize,
    value: JsonCursor<'a>,
    /// Position after the object.
    end: JsonCursor<'a>,
}

impl UnionShape {
    /// Creates the shape of a union with these branches, which may contain null.
    pub fn new(branches: &[AvroType]) -> Self {
        let members = branches.iter().filter(|kind| **kind != AvroType::Null).cloned().collect();
        Self { members, tags: BranchTags::new(branches) }
    }

    /// Returns the index of a member's column, or `None` if it has no column.
    fn column_index(&self, member: usize) -> Option<usize> {
        self.members.get(member).filter(|kind| kind.is_held())?;
        Some(self.members.iter().take(member).filter(|kind| kind.is_held()).count())
    }

    fn tagged<'a>(&self, mut cursor: JsonCursor<'a>) -> JsonResult<Option<Tagged<'a>>> {
        cursor.open();
        if !cursor.has_next(true, b'}')? {
            return Ok(None);
        }
        let Some(member) = self.tags.branch(as_text(&cursor.key()?)) else { return Ok(None) };
        let value = cursor;
        cursor.skip()?;
        let is_only_member = !cursor.has_next(false, b'}')?;
        Ok(is_only_member.then_some(Tagged { member, value, end: cursor }))
    }

    /// Returns the index of the member that the value at the cursor fits.
    fn choose_member(&self, cursor: JsonCursor<'_>, start: ValueStart) -> JsonResult<usize> {
        for lenient in [false, true] {
            for (member, kind) in self.members.iter().enumerate() {
                if fits(kind, cursor, start, lenient)? {
                    return Ok(member);
                }
            }
        }
        let names: Vec<&str> = self.members.iter().map(AvroType::branch_name).collect();
        cursor.mismatch(&format!("a value of a union of {}", names.join(", ")))
    }
}

/// Appends the value at the cursor to the column of its member.
pub fn read_union(
    shape: &UnionShape,
    members: &mut RecordColumn,
    cursor: &mut JsonCursor<'_>,
    start: ValueStart,
) -> JsonResult<()> {
    let tagged = if start == ValueStart::Object { shape.tagged(*cursor)? } else { None };
    let (member, mut value) = match &tagged {
        Some(tagged) => (tagged.member, tagged.value),
        None => (shape.choose_member(*cursor, start)?, *cursor),
    };
    if tagged.is_some() && value.start()? == ValueStart::Null {
        return value.mismatch("a value after the name of a union's branch");
    }
    match shape.column_index(member).and_then(|index| members.children.get_mut(index)) {
        Some(column) => read(column, false, &mut value)?,
        None => value.skip()?,
    }
    *cursor = tagged.map_or(value, |tagged| tagged.end);
    match shape.column_index(member) {
        Some(_) => members.close(1, cursor),
        None => {
            members.append_null();
            Ok(())
        }
    }
}

/// Returns whether a value fits `kind`.
///
/// If `lenient` is set, whole numbers are also accepted as floats, fractions as integers, and objects with
/// unknown keys as records.
fn fits(kind: &AvroType, mut cursor: JsonCursor<'_>, start: ValueStart, lenient: bool) -> JsonResult<bool> {
    Ok(match (start, kind) {
        (_, AvroType::Omitted(kind)) => fits(kind, cursor, start, lenient)?,
        (ValueStart::Boolean, _) => matches!(kind, AvroType::Boolean),
        (ValueStart::Number, _) => number_fits(kind, cursor.number()?, lenient),
        (ValueStart::Text, _) => text_fits(kind, as_text(&cursor.text()?)),
        (ValueStart::Array, _) => matches!(kind, AvroType::Array(_)),
        (ValueStart::Object, AvroType::Map(_)) => true,
        (ValueStart::Object, AvroType::Record(_)) if lenient => true,
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

fn number_fits(kind: &AvroType, text: &str, lenient: bool) -> bool {
    let whole = !text.contains(['.', 'e', 'E']);
    let Some(number) = WrittenNumber::parse(text) else { return false };
    match kind {
        AvroType::Int(_) => (whole || lenient) && number.integer().is_some_and(|n| i32::try_from(n).is_ok()),
        AvroType::Long(_) => (whole || lenient) && number.integer().is_some(),
        AvroType::Float | AvroType::Double => lenient || !whole,
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

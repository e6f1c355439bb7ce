//! Avro bytes to columns, by a plan.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>

use super::columns::AvroColumn;
use super::cursor::{AvroCursor, AvroFault, AvroResult, fault};
use super::plan::{AvroPlan, DecimalPlan, FieldStep, RecordPlan, Rescale};
use crate::avro_schema::AvroType;
use crate::decode::ascii::checked_text;
use crate::decode::buffers::BytesBuffer;
use crate::decode::list_column::ListColumn;

/// Append the value at the cursor to `column`, which was made for the reader that `plan` resolves to.
pub fn read(plan: &AvroPlan, column: &mut AvroColumn, cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    match (plan, column) {
        (AvroPlan::Union(branches), column) => read(cursor.branch(branches)?, column, cursor)?,
        (AvroPlan::Null, column) => column.append_null(),
        (AvroPlan::Long, AvroColumn::Long(b)) => b.push(cursor.long()?),
        (AvroPlan::Bytes, AvroColumn::Text(b)) => append(b, text(cursor.bytes()?)?)?,
        (AvroPlan::Double, AvroColumn::Double(b)) => b.push(f64::from_le_bytes(cursor.array()?)),
        (AvroPlan::Boolean, AvroColumn::Boolean(b)) => b.push(cursor.boolean()?),
        (AvroPlan::Int, AvroColumn::Int(b)) => b.push(cursor.int()?),
        (AvroPlan::Int, AvroColumn::Long(b)) => b.push(i64::from(cursor.int()?)),
        (AvroPlan::Int, AvroColumn::Float(b)) => b.push(cursor.int()? as f32),
        (AvroPlan::Int, AvroColumn::Double(b)) => b.push(f64::from(cursor.int()?)),
        (AvroPlan::Long, AvroColumn::Float(b)) => b.push(cursor.long()? as f32),
        (AvroPlan::Long, AvroColumn::Double(b)) => b.push(cursor.long()? as f64),
        (AvroPlan::Float, AvroColumn::Float(b)) => b.push(f32::from_le_bytes(cursor.array()?)),
        (AvroPlan::Float, AvroColumn::Double(b)) => b.push(f64::from(f32::from_le_bytes(cursor.array()?))),
        (AvroPlan::Rescaled(rescale), AvroColumn::Long(b)) => b.push(rescaled(cursor.long()?, rescale)?),
        (AvroPlan::Bytes, AvroColumn::Bytes(b)) => append(b, cursor.bytes()?)?,
        (AvroPlan::Fixed(size), AvroColumn::Fixed(b)) => {
            b.append_value(cursor.take(*size)?).or_else(|e| fault(e.to_string()))?;
        }
        (AvroPlan::Decimal(how), AvroColumn::Decimal(b, _)) => b.push(decimal(how, cursor)?),
        (AvroPlan::Enum(symbols), AvroColumn::Text(b)) => match cursor.branch(symbols)? {
            Ok(symbol) => append(b, symbol.as_bytes())?,
            Err(why) => return fault(why),
        },
        (AvroPlan::Array(item), AvroColumn::List(list)) => array(item, list, cursor)?,
        (AvroPlan::Map(value), AvroColumn::Map(list, keys)) => map(value, list, keys, cursor)?,
        (AvroPlan::Record(fields), AvroColumn::Struct(s)) => {
            record(fields, &mut s.children, cursor)?;
            s.close(true);
        }
        (AvroPlan::Member(index, plan), AvroColumn::Struct(s)) => {
            for (i, child) in s.children.iter_mut().enumerate() {
                if i == *index { read(plan, child, cursor)? } else { child.append_null() }
            }
            s.close(true);
        }
        (AvroPlan::Default(bytes, plan), column) => read(plan, column, &mut AvroCursor::new(bytes))?,
        (AvroPlan::Refused(mismatch), _) => {
            return Err(Box::new(AvroFault { path: mismatch.path.clone(), why: mismatch.why.clone() }));
        }
        // A plan is only ever made together with its column.
        (plan, _) => return fault(format!("{plan:?} was planned for another column; please report this")),
    }
    Ok(())
}

fn array(item: &AvroPlan, list: &mut ListColumn<AvroColumn>, cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            break;
        }
        // An item takes at least a byte (the schema's parser sees to that): a wrong count meets the end.
        for _ in 0..count {
            read(item, &mut list.items, cursor).map_err(|e| e.below("[]"))?;
        }
    }
    counted(list.close())
}

fn map(
    value: &AvroPlan,
    list: &mut ListColumn<AvroColumn>,
    keys: &mut BytesBuffer,
    cursor: &mut AvroCursor<'_>,
) -> AvroResult<()> {
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            break;
        }
        for _ in 0..count {
            let key = text(cursor.bytes()?)?;
            append(keys, key)?;
            let below = |e: Box<AvroFault>| e.below(&format!("{{{}}}", String::from_utf8_lossy(key)));
            read(value, &mut list.items, cursor).map_err(below)?;
        }
    }
    counted(list.close_map(|entry| keys.get(entry)))
}

fn counted(fits: bool) -> AvroResult<()> {
    if fits { Ok(()) } else { fault("a batch with more items than 32 bits count; read smaller batches") }
}

fn record(fields: &RecordPlan, columns: &mut [AvroColumn], cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    for step in &fields.steps {
        match step {
            FieldStep::Read(index, name, plan) => {
                let Some(column) = columns.get_mut(*index) else { continue };
                read(plan, column, cursor).map_err(|e| e.below(name))?;
            }
            FieldStep::Skip(name, kind) => skip(kind, cursor).map_err(|e| e.below(name))?,
        }
    }
    for (index, plan) in &fields.absent {
        let Some(column) = columns.get_mut(*index) else { continue };
        read(plan, column, cursor)?;
    }
    Ok(())
}

/// Go past a value that the reader does not want.
fn skip(kind: &AvroType, cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    match kind {
        AvroType::Null => {}
        AvroType::Boolean => _ = cursor.take(1)?,
        AvroType::Int(_) | AvroType::Long(_) | AvroType::Enum(_) => _ = cursor.long()?,
        AvroType::Json(form) => skip(&form.plain(), cursor)?,
        AvroType::Float => _ = cursor.take(4)?,
        AvroType::Double => _ = cursor.take(8)?,
        AvroType::Bytes | AvroType::String | AvroType::Decimal { fixed: None, .. } => _ = cursor.bytes()?,
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) | AvroType::Decimal { fixed: Some(fixed), .. } => {
            cursor.take(fixed.size as usize)?;
        }
        AvroType::Array(item) => skip_blocks(cursor, |cursor| skip(item, cursor))?,
        AvroType::Map(value) => skip_blocks(cursor, |cursor| {
            cursor.bytes()?;
            skip(value, cursor)
        })?,
        AvroType::Record(record) => {
            for field in &record.fields {
                skip(&field.kind, cursor).map_err(|e| e.below(&field.name))?;
            }
        }
        AvroType::Nullable { inner, null_branch } => match cursor.long()? {
            index if index == i64::from(*null_branch) => {}
            0 | 1 => skip(inner, cursor)?,
            other => return fault(format!("expected branch 0 or 1, got {other}")),
        },
        AvroType::Union(branches) => skip(cursor.branch(branches)?, cursor)?,
    }
    Ok(())
}

fn skip_blocks<'a>(
    cursor: &mut AvroCursor<'a>,
    mut item: impl FnMut(&mut AvroCursor<'a>) -> AvroResult<()>,
) -> AvroResult<()> {
    loop {
        match cursor.block()? {
            (0, _) => return Ok(()),
            (_, Some(size)) => match usize::try_from(size) {
                Ok(size) => _ = cursor.take(size)?,
                Err(_) => return fault(format!("expected the size of a block, got {size}")),
            },
            (count, None) => {
                for _ in 0..count {
                    item(cursor)?;
                }
            }
        }
    }
}

fn rescaled(value: i64, rescale: &Rescale) -> AvroResult<i64> {
    let scaled = value.checked_mul(rescale.multiply).map(|v| v.div_euclid(rescale.divide.max(1)));
    scaled.map_or_else(|| fault(format!("expected a time that fits the reader's unit, got {value}")), Ok)
}

/// Two's complement, big endian, of any length.
fn decimal(how: &DecimalPlan, cursor: &mut AvroCursor<'_>) -> AvroResult<i128> {
    let bytes = match how.fixed {
        Some(size) => cursor.take(size)?,
        None => cursor.bytes()?,
    };
    let sign: u8 = if bytes.first().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut wide = [sign; 16];
    for (to, from) in wide.iter_mut().rev().zip(tail.iter().rev()) {
        *to = *from;
    }
    let value = i128::from_be_bytes(wide);
    // What lies before the last 16 bytes may only repeat the sign.
    let whole = head.iter().all(|b| *b == sign) && (value < 0) == (sign == 0xff);
    let scaled =
        value.checked_mul(how.factor).filter(|v| whole && v.unsigned_abs() < how.limit.unsigned_abs());
    scaled.map_or_else(|| fault("expected a decimal of the schema's precision, got more digits"), Ok)
}

/// `bytes`, if they are text.
#[inline]
fn text(bytes: &[u8]) -> AvroResult<&[u8]> {
    checked_text(bytes).or_else(|e| fault(format!("expected UTF-8 text: {e}")))
}

/// A batch of defaults or symbols can hold more text than its messages have bytes.
fn append(column: &mut BytesBuffer, value: &[u8]) -> AvroResult<()> {
    match column.push(value) {
        true => Ok(()),
        false => fault("a batch with more than 2 GiB of text in one column; read smaller batches"),
    }
}

//! Avro bytes to columns, by a plan.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>

use super::columns::AvroColumn;
use super::cursor::{AvroCursor, AvroFault, AvroResult, fault};
use super::decimal::{decimal, decimal_text};
use super::plan::{AvroPlan, FieldStep, RecordPlan, Rescale};
use super::skip::skip;
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
        (AvroPlan::DecimalText(how), AvroColumn::Text(b)) => {
            append(b, decimal_text(how, cursor)?.as_bytes())?
        }
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
        (AvroPlan::Skipped(kind), column) => {
            skip(kind, cursor)?;
            column.append_null();
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

fn rescaled(value: i64, rescale: &Rescale) -> AvroResult<i64> {
    let scaled = value.checked_mul(rescale.multiply).map(|v| v.div_euclid(rescale.divide.max(1)));
    scaled.map_or_else(|| fault(format!("expected a time that fits the reader's unit, got {value}")), Ok)
}

/// `bytes`, if they are text.
#[inline]
fn text(bytes: &[u8]) -> AvroResult<&[u8]> {
    checked_text(bytes).or_else(|e| fault(format!("expected UTF-8 text: {e}")))
}

/// A batch of defaults or symbols can check_room more text than its messages have bytes.
fn append(column: &mut BytesBuffer, value: &[u8]) -> AvroResult<()> {
    match column.push(value) {
        true => Ok(()),
        false => fault("a batch with more than 2 GiB of text in one column; read smaller batches"),
    }
}

//! The reader of Avro bytes into columns, which follows an [`AvroPlan`].
//!
//! The bytes are Avro's binary encoding: <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>

use super::columns::AvroColumn;
use super::cursor::{AvroCursor, AvroFault, AvroResult, fault};
use super::decimal::{decimal, decimal_text};
use super::plan::{AvroPlan, FieldStep, RecordPlan, Rescale};
use super::skip::skip;
use crate::decode::ascii::checked_text;
use crate::decode::buffers::BytesBuffer;
use crate::decode::list_column::ListColumn;

/// Appends the value at the cursor to `column`, whose type must be the reader's type in `plan`.
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
        (AvroPlan::Decimal(plan), AvroColumn::Decimal(b, _)) => b.push(decimal(plan, cursor)?),
        (AvroPlan::DecimalText(plan), AvroColumn::Text(b)) => {
            append(b, decimal_text(plan, cursor)?.as_bytes())?
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
        // This is impossible, because each plan is created together with its column.
        (plan, _) => {
            return fault(format!(
                "expected a plan for the column's type, got {plan:?}; report this as a bug"
            ));
        }
    }
    Ok(())
}

fn array(item: &AvroPlan, list: &mut ListColumn<AvroColumn>, cursor: &mut AvroCursor<'_>) -> AvroResult<()> {
    loop {
        let (count, _) = cursor.block()?;
        if count == 0 {
            break;
        }
        // Each item has at least one byte, because the resolver refuses other items. So the loop reaches the
        // end of the bytes if `count` is too large.
        for _ in 0..count {
            read(item, &mut list.items, cursor).map_err(|e| e.below("[]"))?;
        }
    }
    check_count(list.close())
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
    check_count(list.close_map(|entry| keys.get(entry)))
}

fn check_count(fits: bool) -> AvroResult<()> {
    if fits {
        Ok(())
    } else {
        fault("expected at most 2^31 items in a column of a batch, got more; read smaller batches")
    }
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

/// Returns `bytes` if they are UTF-8.
#[inline]
fn text(bytes: &[u8]) -> AvroResult<&[u8]> {
    checked_text(bytes).or_else(|e| fault(format!("expected UTF-8 text: {e}")))
}

/// Appends a text or bytes. Texts that come from defaults or symbols can exceed 2 GiB in total although the
/// messages are short.
fn append(column: &mut BytesBuffer, value: &[u8]) -> AvroResult<()> {
    match column.push(value) {
        true => Ok(()),
        false => fault("expected at most 2 GiB in a column of a batch, got more; read smaller batches"),
    }
}

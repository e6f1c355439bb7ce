//! Columns of `google.protobuf.Timestamp` and `Duration`, in microseconds.

use std::sync::Arc;

use arrow_array::types::{DurationMicrosecondType, TimestampMicrosecondType};
use arrow_array::{ArrayRef, PrimitiveArray};

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::leaf::take_values;
use super::nulls::Nulls;
use crate::protobuf::VARINT;

const SECONDS: u32 = 1 << 3 | VARINT;
const NANOS: u32 = 2 << 3 | VARINT;

/// A column of times.
#[derive(Debug)]
pub struct TimeColumn {
    micros: Vec<i64>,
    nulls: Nulls,
    /// Seconds of the open row, which several messages of the field may set, like `nanos`.
    seconds: i64,
    nanos: i32,
    is_duration: bool,
}

impl TimeColumn {
    /// Creates an empty column.
    pub fn new(is_duration: bool) -> Self {
        Self { micros: Vec::new(), nulls: Nulls::default(), seconds: 0, nanos: 0, is_duration }
    }

    /// Returns the number of rows, including the open row if it has a value.
    pub fn len(&self) -> usize {
        self.micros.len()
    }

    /// Sets the value of `row` to zero if `row` has no value yet.
    pub fn ensure_value(&mut self, row: usize) {
        if self.micros.len() <= row {
            (self.seconds, self.nanos) = (0, 0);
            self.micros.push(0);
        }
    }

    /// Merges a message into the value of `row`.
    pub fn read(&mut self, row: usize, mut message: ProtobufCursor<'_>) -> ProtobufResult<()> {
        self.ensure_value(row);
        while !message.is_empty() {
            match message.tag()? {
                SECONDS => self.seconds = message.varint()? as i64,
                NANOS => self.nanos = message.varint()? as i32,
                tag if matches!(tag >> 3, 1 | 2) => {
                    return message.fault(format!("expected wire type {VARINT}, got {}", tag & 7));
                }
                tag => message.skip(tag)?,
            }
        }
        // A time is rounded down to microseconds, towards the past, but a duration is rounded towards zero.
        let below = if self.is_duration { self.nanos / 1000 } else { self.nanos.div_euclid(1000) };
        let micros = self.seconds.checked_mul(1_000_000).and_then(|micros| micros.checked_add(below.into()));
        let Some(micros) = micros else {
            return message.fault(format!(
                "expected a time that fits 64 bits of microseconds, got {} s {} ns",
                self.seconds, self.nanos
            ));
        };
        if let Some(slot) = self.micros.get_mut(row) {
            *slot = micros;
        }
        Ok(())
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        self.nulls.push(self.micros.len());
        self.micros.push(0);
    }

    /// Truncates the column to its first `rows` rows.
    pub fn truncate(&mut self, rows: usize) {
        self.micros.truncate(rows);
        self.nulls.truncate(rows);
    }

    /// Returns the values as an Arrow array, and empties the column.
    pub fn finish(&mut self) -> ArrayRef {
        let nulls = self.nulls.finish(self.micros.len());
        let micros = take_values(&mut self.micros).into();
        if self.is_duration {
            return Arc::new(PrimitiveArray::<DurationMicrosecondType>::new(micros, nulls));
        }
        Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(micros, nulls).with_timezone("UTC"))
    }
}

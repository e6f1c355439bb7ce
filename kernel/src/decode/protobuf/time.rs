//! `google.protobuf.Timestamp` and `Duration` as microseconds.

use std::sync::Arc;

use arrow_array::types::{DurationMicrosecondType, TimestampMicrosecondType};
use arrow_array::{ArrayRef, PrimitiveArray};

use super::cursor::{ProtobufCursor, ProtobufResult};
use super::leaf::renew;
use super::nulls::Nulls;
use crate::protobuf::VARINT;

const SECONDS: u32 = 1 << 3 | VARINT;
const NANOS: u32 = 2 << 3 | VARINT;

/// One column of times.
#[derive(Debug)]
pub struct TimeColumn {
    micros: Vec<i64>,
    nulls: Nulls,
    /// What the open row has so far: messages of one field merge.
    seconds: i64,
    nanos: i32,
    is_duration: bool,
}

impl TimeColumn {
    /// An empty column.
    pub fn new(is_duration: bool) -> Self {
        Self { micros: Vec::new(), nulls: Nulls::default(), seconds: 0, nanos: 0, is_duration }
    }

    /// Rows, with the open one where it has a value.
    pub fn len(&self) -> usize {
        self.micros.len()
    }

    /// Let `row` have a value: zero, if it has none.
    pub fn touch(&mut self, row: usize) {
        if self.micros.len() <= row {
            (self.seconds, self.nanos) = (0, 0);
            self.micros.push(0);
        }
    }

    /// Merge a message into the value of `row`.
    pub fn read(&mut self, row: usize, mut message: ProtobufCursor<'_>) -> ProtobufResult<()> {
        self.touch(row);
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
        // Digits below a microsecond are cut: from a time towards the past, from a duration towards zero.
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

    /// Append a null.
    pub fn push_null(&mut self) {
        self.nulls.push(self.micros.len());
        self.micros.push(0);
    }

    /// Forget the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.micros.truncate(rows);
        self.nulls.truncate(rows);
    }

    /// The column so far; starts a new one.
    pub fn finish(&mut self) -> ArrayRef {
        let nulls = self.nulls.finish(self.micros.len());
        let micros = renew(&mut self.micros).into();
        if self.is_duration {
            return Arc::new(PrimitiveArray::<DurationMicrosecondType>::new(micros, nulls));
        }
        Arc::new(PrimitiveArray::<TimestampMicrosecondType>::new(micros, nulls).with_timezone("UTC"))
    }
}

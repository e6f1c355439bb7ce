//! Helpers for messages with odd but undamaged metadata.
#![allow(dead_code, reason = "each test uses some of these helpers")]

use _kernel::decode::{BadRows, DecoderOptions};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field};

use crate::common::*;

pub const MODES: [BadRows; 3] = [BadRows::Fail, BadRows::Null, BadRows::Drop];

/// Return options for text and all metadata columns, with the bytes of bad rows in column `bad`.
pub fn text_options(mode: BadRows) -> DecoderOptions {
    let value = Field::new("value", DataType::Utf8, true);
    let mut options = options("string", vec![value, Field::new("bad", DataType::Binary, true)]);
    options.bad_rows = mode;
    options.corrupt_column = Some("bad".to_owned());
    options
}

pub fn with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut metadata = metadata();
    change(&mut metadata);
    metadata
}

pub fn bad(batch: &RecordBatch) -> Option<Vec<u8>> {
    let column = batch.column_by_name("bad").unwrap().as_binary::<i32>();
    column.is_valid(0).then(|| column.value(0).to_vec())
}

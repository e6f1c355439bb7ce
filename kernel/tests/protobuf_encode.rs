//! Encoding of Protobuf, and values that cannot be encoded.

use std::sync::Arc;

use crate::common::*;
use crate::message::*;
use _kernel::decode::DecoderOptions;
use _kernel::encode::{Encoder, EncoderOptions};
use _kernel::error::{ErrorKind, KernelError};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field};

fn encoded(batch: &RecordBatch, definition: &str) -> Result<Vec<u8>, KernelError> {
    let options = EncoderOptions { value: schema(definition), ..encoder_options(batch.schema(), "protobuf") };
    let frames = encoder(&options).encode(batch, PUBLISH_TIME)?;
    let read = decode_all(options_of_bytes(), &entries_of(&frames[0]))?;
    Ok(read[0]["value"].as_binary::<i32>().value(0).to_vec())
}

fn options_of_bytes() -> DecoderOptions {
    options("bytes", vec![Field::new("value", DataType::Binary, true)])
}

fn single_column(name: &str, array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(name, array, true)]).unwrap()
}

#[test]
fn errors_name_the_row_and_the_field() {
    let nulls: ArrayRef = {
        let items: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![Some(1), None]));
        let field = Arc::new(Field::new("element", DataType::Int64, true));
        Arc::new(ListArray::new(field, arrow_buffer::OffsetBuffer::from_lengths([2]), items, None))
    };
    let left: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![1 << 32]));
    let right: ArrayRef = {
        let x: ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![1]));
        Arc::new(StructArray::from(vec![(Arc::new(Field::new("x", DataType::Int64, true)), x)]))
    };
    let both = RecordBatch::try_from_iter([
        ("left", Arc::new(Int32Array::from(vec![1])) as ArrayRef),
        ("right", right),
    ]);
    for (batch, path, why) in [
        (single_column("list", nulls), "field list.[]", "Protobuf has no nulls in lists"),
        (single_column("left", left), "field left", "from 0 to 4294967295, got 4294967296"),
        (both.unwrap(), "", "at most one field of oneof pick"),
        (single_column("level", Arc::new(StringArray::from(vec!["NO"]))), "field level", "BELOW, "),
    ] {
        let error = encoded(&batch, PLAN).expect_err(why);
        assert_eq!((error.kind, error.row), (ErrorKind::Payload, Some(0)), "{error}");
        assert!(error.message.contains(path) && error.message.contains(why), "{error}");
    }
    let closed = PLAN.replace(r#""closed": false"#, r#""closed": true"#);
    let number = single_column("level", Arc::new(StringArray::from(vec!["5"])));
    assert_eq!(encoded(&number, PLAN).unwrap(), b"\x30\x05");
    assert!(encoded(&number, &closed).unwrap_err().message.contains("got \"5\""));
    let required = PLAN.replacen(r#""shape": "optional""#, r#""shape": "required""#, 1);
    let null = single_column("text", Arc::new(StringArray::from(vec![None::<&str>])));
    assert!(encoded(&null, &required).unwrap_err().message.contains("field text"));
    assert_eq!(encoded(&number, &required).unwrap_err().kind, ErrorKind::Schema);
    let unknown = single_column("other", null["text"].clone());
    let options = EncoderOptions { value: schema(PLAN), ..encoder_options(unknown.schema(), "protobuf") };
    assert_eq!(Encoder::new(&options).err().map(|e| e.kind), Some(ErrorKind::Schema));
}

#[test]
fn texts_and_messages_of_any_length_are_written() {
    for length in [0usize, 1, 127, 128, 16_383, 16_384, 300_000] {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(length)]));
        let names: ArrayRef = Arc::new(ListArray::new(
            Arc::new(Field::new("element", DataType::Utf8, true)),
            arrow_buffer::OffsetBuffer::from_lengths([1]),
            text,
            None,
        ));
        let inner: ArrayRef = Arc::new(StructArray::from(vec![(
            Arc::new(Field::new("names", list_of(DataType::Utf8), true)),
            names,
        )]));
        let payload = encoded(&single_column("inner", inner), PLAN).unwrap();
        let batch = row(&payload);
        let read = batch["inner"].as_struct()["names"].as_list::<i32>().value(0);
        assert_eq!(read.as_string::<i32>().value(0).len(), length);
    }
}

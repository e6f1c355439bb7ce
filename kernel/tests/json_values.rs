//! JSON payloads as Pulsar's clients write them.

mod common;

use std::sync::Arc;

use _kernel::decode::DecoderOptions;
use _kernel::error::{ErrorKind, KernelError};
use arrow_array::{ArrayRef, BinaryArray, Decimal128Array, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use common::*;

fn json_options() -> DecoderOptions {
    let schema = Schema::new(vec![
        Field::new("a", DataType::Int32, true),
        Field::new("raw", DataType::Binary, true),
        Field::new("price", DataType::Decimal128(10, 2), true),
    ]);
    let mut options = options("json", schema.fields().iter().map(|f| f.as_ref().clone()).collect());
    options.value.value_schema = Some(Arc::new(schema));
    options
}

fn json(payload: &str) -> Result<RecordBatch, KernelError> {
    let data = [entry(&metadata(), br#"{"a": 1}"#), entry(&metadata(), payload.as_bytes())];
    decode_all(json_options(), &data).map(|mut batches| batches.remove(0))
}

#[test]
fn json_payloads_must_be_one_object() {
    for bad in [
        "",
        " ",
        "1",
        "[]",
        "\"x\"",
        "{} {}",
        "{}x",
        "{",
        "{\"a\":1",
        "{\"a\":\"x\"}",
        "{\"a\":1.5}",
        "{\"a\":3000000000}",
        "{\"a\":{}}",
        "{\"raw\":\"\u{20ac}\"}",
        "{\"raw\":1}",
        "{\"price\":123456789.0}",
        "null",
    ] {
        let error = json(bad).expect_err(bad);
        assert_eq!(error.kind, ErrorKind::Payload, "{bad}: {error}");
        assert_eq!(error.at.map(|at| at.entry), Some(1), "{bad}: {error}");
    }
}

#[test]
fn json_values_as_pulsar_means_them() {
    let batch = json("\n {\"unknown\": [{}], \"a\": 2.0, \"raw\": \"AAE=\", \"price\": 12.5} \n").unwrap();
    let expected = [
        Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef,
        Arc::new(BinaryArray::from(vec![None, Some(&[0u8, 1][..])])),
        Arc::new(Decimal128Array::from(vec![None, Some(1250)]).with_precision_and_scale(10, 2).unwrap()),
    ];
    assert_eq!(&batch.columns()[..3], &expected);
    let unscaled = json("{\"price\": \"BOI=\"}").unwrap();
    assert_eq!(unscaled.column(2), &expected[2]);
}

//! JSON payloads as Pulsar's clients write them.

use std::sync::Arc;

use crate::common::*;
use _kernel::decode::DecoderOptions;
use _kernel::error::{ErrorKind, KernelError};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, BinaryArray, Decimal128Array, Int32Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, Schema};

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
fn json_values_have_their_meaning_in_pulsar() {
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

/// Return the unscaled price of a decimal with 10 digits, 2 of them after the point.
fn price(value: &str) -> Result<i128, KernelError> {
    let batch = json(&format!("{{\"price\": {value}}}"))?;
    Ok(batch.column(2).as_primitive::<Decimal128Type>().value(1))
}

#[test]
fn text_with_a_number_is_read_as_a_number() {
    for (value, unscaled) in [
        // These texts are also valid base64, for example of -2658824.
        (r#""1234""#, 123_400),
        (r#""99999999""#, 9_999_999_900),
        (r#""1e10""#, 0),
        (r#""12.5""#, 1250),
        (r#"" -0.50 ""#, -50),
        (r#""+1""#, 100),
        ("1234", 123_400),
        ("12.500000000000000000000000000000000000000000000000", 1250),
        ("1.25E+1", 1250),
        ("0e99", 0),
        // Kafka Connect writes the unscaled value as base64.
        (r#""BOI=""#, 1250),
        (r#""/w==""#, -1),
        (r#""AAAAAAAAAAAAAAAAAAAAAQ==""#, 1),
    ] {
        match (price(value), unscaled) {
            // The text is a number, but a number that is too large.
            (Err(error), 0) if value.contains("1e10") => assert_eq!(error.kind, ErrorKind::Payload),
            (found, unscaled) => assert_eq!(found.expect(value), unscaled, "{value}"),
        }
    }
}

#[test]
fn decimals_are_never_rounded() {
    for bad in [
        "12.999",
        "\"12.999\"",
        "0.001",
        "1e-3",
        "100000000",
        "\"100000000\"",
        "\"123456789012\"",
        "1e400",
        "1e99999999999999999999",
        "\"\"",
        "\" \"",
        "\"abc\"",
        "\"1,234\"",
        "\"NaN\"",
        "\"AAAAAAAAAAAAAAAAAAAAAAAA\"",
        "\"f////////w==\"",
        "true",
        "[4, 226]",
    ] {
        let error = price(bad).expect_err(bad);
        assert_eq!(
            (error.kind, error.at.map(|at| at.entry)),
            (ErrorKind::Payload, Some(1)),
            "{bad}: {error}"
        );
        assert!(error.message.contains("expected a decimal"), "{bad}: {error}");
    }
}

/// Decode one message with the Avro schema `definition`, and return its columns as text.
fn by_definition(definition: &str, fields: Vec<Field>, payload: &str) -> Result<String, KernelError> {
    let mut options = options("json", fields.clone());
    options.value.value_schema = Some(Arc::new(Schema::new(fields.clone())));
    options.value.definition = Some(definition.to_owned());
    let batch = decode_all(options, &[entry(&metadata(), payload.as_bytes())])?.remove(0);
    let shown = |at: usize| {
        let options = FormatOptions::default().with_null("null");
        ArrayFormatter::try_new(batch.column(at), &options).unwrap().value(0).to_string()
    };
    Ok((0..fields.len()).map(shown).collect::<Vec<_>>().join("; "))
}

#[test]
fn a_required_field_needs_a_value_or_a_default() {
    let definition = r#"{"type":"record","name":"R","fields":[
      {"name":"id","type":"int"},
      {"name":"note","type":["null","string"],"default":null},
      {"name":"level","type":"int","default":7},
      {"name":"kind","type":["string","null"],"default":"unused"}]}"#;
    let fields = nullable([
        ("id", DataType::Int32),
        ("note", DataType::Utf8),
        ("level", DataType::Int32),
        ("kind", DataType::Utf8),
    ]);
    let one = |payload: &str| by_definition(definition, fields.clone(), payload);
    assert_eq!(one(r#"{"id": 1}"#).unwrap(), "1; null; 7; null");
    assert_eq!(one(r#"{"level": 2, "kind": null, "note": "n", "id": 3}"#).unwrap(), "3; n; 2; null");
    for (bad, why) in [
        ("{}", "in field id, at byte 2: expected a value, got none"),
        (r#"{"id": null}"#, "in field id, at byte 7: expected a value, got null"),
        (r#"{"id": 1, "id": null}"#, "in field id"),
        (r#"{"id": 1, "level": null}"#, "in field level, at byte 19: expected a value, got null"),
    ] {
        let error = one(bad).unwrap_err();
        assert_eq!(
            (error.kind, error.at.map(|at| at.entry)),
            (ErrorKind::Payload, Some(0)),
            "{bad}: {error}"
        );
        assert!(error.message.contains(why), "{bad}: {error}");
    }
    // A required field that is not requested may be missing.
    let mut options = options("json", fields[1..2].to_vec());
    options.value.value_schema = Some(Arc::new(Schema::new(fields)));
    options.value.definition = Some(definition.to_owned());
    assert_eq!(strings(&decode_all(options, &[entry(&metadata(), b"{}")]).unwrap()[0], "note"), [None]);
}

#[test]
fn nested_nulls_are_refused_where_the_schema_has_no_null() {
    let definition = r#"{"type":"record","name":"R","fields":[
      {"name":"list","type":["null",{"type":"array","items":"int"}]},
      {"name":"some","type":["null",{"type":"array","items":["null","int"]}]},
      {"name":"map","type":["null",{"type":"map","values":"int"}]},
      {"name":"inner","type":["null",{"type":"record","name":"I","fields":[{"name":"x","type":"int"}]}]},
      {"name":"rows","type":["null",{"type":"array","items":"I"}]},
      {"name":"either","type":["null","int","I"]}]}"#;
    let inner = DataType::Struct(nullable([("x", DataType::Int32)]).into());
    let either =
        DataType::Struct(nullable([("member0", DataType::Int32), ("member1", inner.clone())]).into());
    let fields = nullable([
        ("list", list_of(DataType::Int32)),
        ("some", list_of(DataType::Int32)),
        ("map", map_between(DataType::Utf8, DataType::Int32)),
        ("inner", inner.clone()),
        ("rows", list_of(inner)),
        ("either", either),
    ]);
    let one = |payload: &str| by_definition(definition, fields.clone(), payload);
    assert_eq!(one("{}").unwrap(), "null; null; null; null; null; null");
    assert_eq!(
        one(r#"{"list": [1], "some": [null], "map": {"a": 1}, "inner": {"x": 1}, "rows": [{"x": 2}], "either": {"x": 3}}"#)
            .unwrap(),
        "[1]; [null]; {a: 1}; {x: 1}; [{x: 2}]; {member0: null, member1: {x: 3}}"
    );
    for (bad, field) in [
        (r#"{"list": [1, null]}"#, "list[]"),
        (r#"{"map": {"a": null}}"#, "map.a"),
        (r#"{"inner": {}}"#, "inner.x"),
        (r#"{"inner": {"x": null}}"#, "inner.x"),
        (r#"{"rows": [{"x": 1}, {}]}"#, "rows[].x"),
        (r#"{"rows": [null]}"#, "rows[]"),
        (r#"{"either": {}}"#, "either.x"),
    ] {
        let error = one(bad).unwrap_err();
        assert!(error.message.contains(&format!("in field {field}, at byte")), "{bad}: {error}");
    }
}

#[test]
fn missing_fields_have_defaults_of_every_kind() {
    let definition = r#"{"type":"record","name":"R","fields":[
      {"name":"raw","type":"bytes","default":"\u0000\u00ff"},
      {"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2},"default":"\u0004\u00e2"},
      {"name":"list","type":{"type":"array","items":"bytes"},"default":["a"]},
      {"name":"map","type":{"type":"map","values":["null","long"]},"default":{"a":1,"b":null}},
      {"name":"inner","type":{"type":"record","name":"I","fields":[
        {"name":"x","type":"double","default":"NaN"},{"name":"y","type":"string"}]},"default":{"y":"\"é"}},
      {"name":"either","type":["string","long"],"default":"5"}]}"#;
    let inner = DataType::Struct(nullable([("x", DataType::Float64), ("y", DataType::Utf8)]).into());
    let either =
        DataType::Struct(nullable([("member0", DataType::Utf8), ("member1", DataType::Int64)]).into());
    let fields = nullable([
        ("raw", DataType::Binary),
        ("price", DataType::Decimal128(10, 2)),
        ("list", list_of(DataType::Binary)),
        ("map", map_between(DataType::Utf8, DataType::Int64)),
        ("inner", inner),
        ("either", either),
    ]);
    assert_eq!(
        by_definition(definition, fields, "{}").unwrap(),
        "00ff; 12.50; [61]; {a: 1, b: null}; {x: NaN, y: \"é}; {member0: 5, member1: null}"
    );
}

#[test]
fn a_number_is_in_the_union_branch_that_can_hold_it() {
    let definition = r#"{"type":"record","name":"R","fields":[
      {"name":"u","type":["int",{"type":"bytes","logicalType":"decimal","precision":4,"scale":2},"long","double"]},
      {"name":"t","type":["null","bytes","string"]}]}"#;
    let members = [
        ("member0", DataType::Int32),
        ("member1", DataType::Decimal128(4, 2)),
        ("member2", DataType::Int64),
        ("member3", DataType::Float64),
    ];
    let texts = [("member0", DataType::Binary), ("member1", DataType::Utf8)];
    let fields = nullable([
        ("u", DataType::Struct(nullable(members).into())),
        ("t", DataType::Struct(nullable(texts).into())),
    ]);
    for (value, member) in [
        ("1", "{member0: 1, member1: null, member2: null, member3: null}"),
        ("12.5", "{member0: null, member1: 12.50, member2: null, member3: null}"),
        ("12.999", "{member0: null, member1: null, member2: null, member3: 12.999}"),
        ("3000000000", "{member0: null, member1: null, member2: 3000000000, member3: null}"),
        (
            "9223372036854775808",
            "{member0: null, member1: null, member2: null, member3: 9.223372036854776e18}",
        ),
    ] {
        let payload = format!(r#"{{"u": {value}, "t": "no base64"}}"#);
        let found = by_definition(definition, fields.clone(), &payload).expect(value);
        assert_eq!(found, format!("{member}; {{member0: null, member1: no base64}}"), "{value}");
    }
}

#[test]
fn floats_above_their_range_are_refused() {
    let fields = nullable([("f", DataType::Float32)]);
    let definition = r#"{"type":"record","name":"R","fields":[{"name":"f","type":"float"}]}"#;
    for (value, expected) in [("3.4028235e38", "3.4028235e38"), ("\"Infinity\"", "inf"), ("1e-60", "0.0")] {
        let payload = format!(r#"{{"f": {value}}}"#);
        assert_eq!(by_definition(definition, fields.clone(), &payload).unwrap(), expected);
    }
    for bad in ["1e39", "-1e39", "\"1e39\""] {
        let error = by_definition(definition, fields.clone(), &format!(r#"{{"f": {bad}}}"#)).expect_err(bad);
        assert!(error.message.contains("in the range of its type"), "{error}");
    }
}

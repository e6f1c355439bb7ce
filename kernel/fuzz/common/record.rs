//! The schema and the Arrow columns of a record that has a field of every kind that the kernel decodes.

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use super::handmade::{list_of, map_between, nullable, utc_micros};

/// The Avro schema.
pub const AVRO_SCHEMA: &str = r#"{"type":"record","name":"R","fields":[
  {"name":"flag","type":"boolean"}, {"name":"small","type":["null","int"]}, {"name":"large","type":"long"},
  {"name":"single","type":["float","null"]}, {"name":"twice","type":"double"},
  {"name":"words","type":"string"}, {"name":"data","type":["null","bytes"]},
  {"name":"colour","type":{"type":"enum","name":"C","symbols":["RED","GREEN"]}},
  {"name":"hash","type":["null",{"type":"fixed","name":"H","size":3}]},
  {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":4}},
  {"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
  {"name":"clock","type":{"type":"long","logicalType":"time-micros"}},
  {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
  {"name":"there","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}]},
  {"name":"list","type":{"type":"array","items":["null","string"]}},
  {"name":"pairs","type":["null",{"type":"map","values":"long"}]},
  {"name":"inner","type":["null",{"type":"record","name":"I","fields":[
    {"name":"x","type":"int"}, {"name":"rows","type":{"type":"array","items":"double"}}]}]}]}"#;

/// A record with a field of every form that JSON values have, as the Python package describes it.
pub const FORMS_SCHEMA: &str = r#"{"type":"record","name":"F","fields":[
  {"name":"at","type":["null",{"type":"long","logicalType":"timestamp-micros","jsonForm":"instant-millis"}]},
  {"name":"zoned","type":["null",{"type":"long","logicalType":"timestamp-micros","jsonForm":"instant-seconds"}]},
  {"name":"there","type":["null",
    {"type":"long","logicalType":"local-timestamp-micros","jsonForm":"local-date-time-nanos"}]},
  {"name":"clock","type":["null",{"type":"long","logicalType":"time-micros","jsonForm":"time-millis"}]},
  {"name":"days","type":{"type":"array","items":{"type":"int","logicalType":"date","jsonForm":"date"}}, "default":[]},
  {"name":"letter","type":["null",{"type":"int","jsonForm":"char"}]},
  {"name":"amount","type":["null",{"type":"string","jsonForm":"decimal"}]},
  {"name":"count","type":["null",{"type":"string","jsonForm":"integer"}]},
  {"name":"any","type":["null",{"type":"string","jsonForm":"any"}]}]}"#;

/// The columns of `FORMS_SCHEMA`.
pub fn form_fields() -> Vec<Field> {
    nullable([
        ("at", utc_micros()),
        ("zoned", utc_micros()),
        ("there", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("clock", DataType::Time64(TimeUnit::Microsecond)),
        ("days", list_of(DataType::Date32)),
        ("letter", DataType::Int32),
        ("amount", DataType::Utf8),
        ("count", DataType::Utf8),
        ("any", DataType::Utf8),
    ])
}

/// An older version of `AVRO_SCHEMA`, with fields that are missing, have a narrower type, are in another
/// order, or were removed later.
pub const OLDER_DOCUMENT: &str = r#"{"type":"record","name":"R","fields":[
  {"name":"gone","type":["null","string"]}, {"name":"large","type":"int"}, {"name":"flag","type":"boolean"},
  {"name":"small","type":["null","int"]}, {"name":"single","type":["float","null"]},
  {"name":"twice","type":"float"}, {"name":"words","type":"string"}, {"name":"data","type":["null","bytes"]},
  {"name":"colour","type":{"type":"enum","name":"C","symbols":["GREEN","RED"]}},
  {"name":"hash","type":["null",{"type":"fixed","name":"H","size":3}]},
  {"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":20,"scale":4}},
  {"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
  {"name":"clock","type":{"type":"long","logicalType":"time-micros"}},
  {"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},
  {"name":"there","type":["null",{"type":"long","logicalType":"local-timestamp-micros"}]},
  {"name":"list","type":{"type":"array","items":["null","string"]}},
  {"name":"pairs","type":["null",{"type":"map","values":"int"}]},
  {"name":"inner","type":["null",{"type":"record","name":"I","fields":[
    {"name":"rows","type":{"type":"array","items":"int"}}, {"name":"x","type":"int"}]}]}]}"#;

/// The columns of `DOCUMENT` in its own units.
pub fn fields() -> Vec<Field> {
    let inner = Fields::from(vec![
        Field::new("x", DataType::Int32, true),
        Field::new("rows", list_of(DataType::Float64), true),
    ]);
    nullable([
        ("flag", DataType::Boolean),
        ("small", DataType::Int32),
        ("large", DataType::Int64),
        ("single", DataType::Float32),
        ("twice", DataType::Float64),
        ("words", DataType::Utf8),
        ("data", DataType::Binary),
        ("colour", DataType::Utf8),
        ("hash", DataType::FixedSizeBinary(3)),
        ("amount", DataType::Decimal128(20, 4)),
        ("day", DataType::Date32),
        ("clock", DataType::Time64(TimeUnit::Microsecond)),
        ("at", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
        ("there", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("list", list_of(DataType::Utf8)),
        ("pairs", map_of(DataType::Int64)),
        ("inner", DataType::Struct(inner)),
    ])
}

/// The plan of the message `Everything`. A unit test checks that Python makes the same plan.
pub const EVERYTHING: &str = include_str!("everything.json");

/// The columns of `EVERYTHING`.
pub fn everything() -> Vec<Field> {
    let inner = DataType::Struct(Fields::from(vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Utf8, true),
    ]));
    nullable([
        ("twice", DataType::Float64),
        ("single", DataType::Float32),
        ("i32", DataType::Int32),
        ("i64", DataType::Int64),
        ("u32", DataType::Int64),
        ("u64", DataType::Decimal128(20, 0)),
        ("s32", DataType::Int32),
        ("s64", DataType::Int64),
        ("f32", DataType::Int64),
        ("f64", DataType::Decimal128(20, 0)),
        ("sf32", DataType::Int32),
        ("sf64", DataType::Int64),
        ("flag", DataType::Boolean),
        ("words", DataType::Utf8),
        ("data", DataType::Binary),
        ("colour", DataType::Utf8),
        ("part", inner.clone()),
        ("numbers", list_of(DataType::Int64)),
        ("names", list_of(DataType::Utf8)),
        ("rows", list_of(inner.clone())),
        ("counts", map_of(DataType::Int64)),
        ("by_number", map_between(DataType::Int32, inner)),
        ("maybe", DataType::Utf8),
        ("text", DataType::Utf8),
        ("number", DataType::Int32),
        ("at", utc_micros()),
        ("note", DataType::Utf8),
    ])
}

/// Returns a map from strings.
pub fn map_of(kind: DataType) -> DataType {
    map_between(DataType::Utf8, kind)
}

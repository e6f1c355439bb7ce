//! The shared part of the fuzz targets: a decoder for one value type, and the properties that are checked for
//! any input.
//!
//! To add a value type, write a constructor of [`Kind`] and a target that calls [`payload`].

#![allow(dead_code, reason = "each target uses a part of it")]

#[path = "../../tests/common/handmade.rs"]
mod handmade;
mod record;

use std::sync::Arc;

use _kernel::avro_schema::AvroType;
use _kernel::decode::{BadRows, Decoder, DecoderOptions};
use _kernel::encode::{Encoder, EncoderOptions, Producer};
use _kernel::error::{ErrorKind, Result};
use _kernel::origin::origins;
use _kernel::payload_schema::{KeyValueSchema, PayloadSchema};
use _kernel::protobuf::ProtobufPlan;
use _kernel::wire::{put_bytes, put_number};
use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use handmade::{decoder_of, drain, entries, metadata, metadata_fields, stored, utc_micros};
use record::{AVRO_SCHEMA, EVERYTHING, FORMS_SCHEMA, OLDER_DOCUMENT, everything, fields, form_fields};

/// Returns the names of the value types with one column, `value`, and their Arrow types.
pub fn primitives() -> [(&'static str, DataType); 16] {
    [
        ("bytes", DataType::Binary),
        ("string", DataType::Utf8),
        ("boolean", DataType::Boolean),
        ("int8", DataType::Int8),
        ("int16", DataType::Int16),
        ("int32", DataType::Int32),
        ("int64", DataType::Int64),
        ("float", DataType::Float32),
        ("double", DataType::Float64),
        ("date", DataType::Date32),
        ("time", DataType::Time64(TimeUnit::Nanosecond)),
        ("timestamp", utc_micros()),
        ("instant", utc_micros()),
        ("local_date", DataType::Date32),
        ("local_time", DataType::Time64(TimeUnit::Nanosecond)),
        ("local_date_time", DataType::Timestamp(TimeUnit::Microsecond, None)),
    ]
}

/// Schema versions and their definitions. None is the reader's own version.
const VERSIONS: [(&[u8], &str); 3] =
    [(b"", AVRO_SCHEMA), (&[0; 8], AVRO_SCHEMA), (&[0, 0, 0, 0, 0, 0, 0, 1], OLDER_DOCUMENT)];

/// The format of a value, and its columns.
#[derive(Debug, Clone)]
pub struct Kind {
    value: PayloadSchema,
    columns: Vec<Field>,
}

impl Kind {
    /// Returns the primitive type with the number `choice`.
    pub fn primitive(choice: u8) -> Self {
        let known = primitives();
        let (value_type, kind) = known[usize::from(choice) % known.len()].clone();
        Self { value: PayloadSchema::of_type(value_type), columns: vec![Field::new("value", kind, true)] }
    }

    /// Returns a record in the format `avro` or `json`, with a field of every kind.
    pub fn record(value_type: &str) -> Self {
        Self::described(value_type, AVRO_SCHEMA, fields())
    }

    /// Returns a record in the format `json`, with a field of every form of JSON values.
    pub fn json_forms() -> Self {
        Self::described("json", FORMS_SCHEMA, form_fields())
    }

    /// Returns the message of `tests/java/Everything.java`, with the plan that Python creates from its
    /// descriptor.
    pub fn protobuf() -> Self {
        Self::described("protobuf", EVERYTHING, everything())
    }

    /// Returns a pair like `key_value`, whose key is the message's key.
    pub fn separated() -> Self {
        let mut kind = Self::key_value();
        if let Some(pair) = &mut kind.value.pair {
            pair.separated = true;
        }
        kind
    }

    /// Returns a pair in the payload: an Avro record as the key, and a string as the value.
    pub fn key_value() -> Self {
        let key = Self::record("avro");
        let columns = vec![
            Field::new("key", DataType::Struct(key.columns.clone().into()), true),
            Field::new("value", DataType::Utf8, true),
        ];
        let pair =
            KeyValueSchema { key: key.value, value: PayloadSchema::of_type("string"), separated: false };
        let value = PayloadSchema { pair: Some(Box::new(pair)), ..PayloadSchema::of_type("key_value") };
        Self { value, columns }
    }

    fn described(value_type: &str, definition: &str, columns: Vec<Field>) -> Self {
        let value = PayloadSchema {
            value_schema: Some(Arc::new(Schema::new(columns.clone()))),
            definition: Some(definition.to_owned()),
            ..PayloadSchema::of_type(value_type)
        };
        Self { value, columns }
    }

    /// Returns the schema of messages whose Avro part was written with `definition`.
    fn written(&self, definition: &str) -> PayloadSchema {
        let mut written = self.value.clone();
        match &mut written.pair {
            Some(pair) => pair.key.definition = Some(definition.to_owned()),
            None if self.value.value_type == "protobuf" => {}
            None => written.definition = Some(definition.to_owned()),
        }
        written
    }

    /// Returns a decoder that knows the schema version `wanted`, or all versions.
    fn decoder(&self, metadata: bool, wanted: Option<&[u8]>, bad_rows: BadRows) -> Decoder {
        let mut columns = self.columns.clone();
        if metadata {
            columns.extend(metadata_fields());
        }
        let mut options = decoder_of(self.value.clone(), columns);
        // The limit is larger than every input, and much smaller than a forged size.
        options.intake.max_uncompressed = Some(1 << 20);
        options.bad_rows = bad_rows;
        let mut decoder = Decoder::new(options).expect("a decoder");
        for (version, definition) in VERSIONS {
            let counts = self.value.definition.is_some() || self.value.pair.is_some();
            if counts && wanted.is_none_or(|name| name == version) {
                decoder.add_writer_schema(version, &self.written(definition)).expect("a version");
            }
        }
        decoder
    }

    fn encoder(&self, columns: SchemaRef) -> Encoder {
        let mut encoder = Encoder::new(&EncoderOptions {
            input_schema: columns,
            value: self.value.clone(),
            partitions: 1,
            compression: "NONE".to_owned(),
            batching_max_messages: 1000,
            batching_max_bytes: 1 << 20,
            max_message_bytes: 5 << 20,
        })
        .expect("an encoder");
        let producer = Producer {
            producer_id: 0,
            producer_name: "producer".to_owned(),
            next_sequence_id: 0,
            schema_version: None,
            transaction: None,
        };
        encoder.set_producer(0, producer).expect("a producer");
        encoder
    }
}

/// Decodes one entry with all metadata columns, and checks that the result is valid Arrow. Only a damaged
/// entry is an error in both modes.
pub fn entry(kind: &Kind, bytes: &[u8]) {
    let strict = run(&mut kind.decoder(true, None, BadRows::Fail), bytes.to_vec());
    let lenient = run(&mut kind.decoder(true, None, BadRows::Null), bytes.to_vec());
    match (strict, lenient) {
        (Ok(strict), Ok(lenient)) => assert_eq!(strict, lenient, "a good entry is the same in both modes"),
        (Ok(_), Err(error)) => panic!("only the lenient mode fails: {error}"),
        (Err(_), Err(error)) => assert_ne!(error.kind, ErrorKind::Payload, "{error}"),
        (Err(_), Ok(_)) => {}
    }
}

/// Decodes a message with a key, and checks that the result is valid Arrow.
pub fn keyed_entry(kind: &Kind, key: &[u8], is_base64: bool, payload: &[u8]) {
    let mut metadata = metadata();
    put_bytes(&mut metadata, 6, key);
    put_number(&mut metadata, 17, u64::from(is_base64));
    let _ = run(&mut kind.decoder(true, None, BadRows::Fail), stored(&metadata, payload));
}

/// Uses `definition` as the reader's schema, and decodes a few payloads with it.
pub fn by_definition(value_type: &str, definition: &str) {
    let Some(columns) = columns_of(value_type, definition) else { return };
    let value = PayloadSchema {
        value_schema: Some(Arc::new(Schema::new(columns.clone()))),
        definition: Some(definition.to_owned()),
        ..PayloadSchema::of_type(value_type)
    };
    let options = DecoderOptions {
        partition: -1,
        batch_rows: 10,
        bad_rows: BadRows::Null,
        ..decoder_of(value.clone(), columns)
    };
    let Ok(mut decoder) = Decoder::new(options) else { return };
    if decoder.add_writer_schema(b"", &value).is_err() {
        return;
    }
    for payload in [&b""[..], b"{}", &[0; 64], &[2; 64], definition.as_bytes()] {
        let _ = run(&mut decoder, stored(&metadata(), payload));
    }
}

/// Maximum number of columns of one input, which limits the time for the input.
const MOST_COLUMNS: usize = 100;

fn columns_of(value_type: &str, definition: &str) -> Option<Vec<Field>> {
    let columns: Vec<Field> = if value_type == "protobuf" {
        let plan = ProtobufPlan::parse(definition).ok()?;
        let column = |field: &_| Some(Field::new("", plan.arrow_type(field).ok()?, true));
        let fields = plan.root().ok()?.fields.iter();
        fields.map(|field| Some(column(field)?.with_name(&field.name))).collect::<Option<_>>()?
    } else {
        let parse = if value_type == "json" { AvroType::parse_for_json } else { AvroType::parse };
        let kind = parse(definition).ok()?;
        let fields = kind.fields().ok()?.iter();
        fields.map(|field| Field::new(&field.name, field.kind.physical(), true)).collect()
    };
    (columns.len() <= MOST_COLUMNS).then_some(columns)
}

/// Uses `definition` as the writer's schema, and decodes a few messages with it.
pub fn by_writer(kind: &Kind, definition: &str) {
    let mut decoder = kind.decoder(false, Some(b""), BadRows::Fail);
    let version = b"another";
    let written = PayloadSchema { definition: Some(definition.to_owned()), ..kind.value.clone() };
    if decoder.add_writer_schema(version, &written).is_err() {
        return;
    }
    for payload in [&b""[..], &[0; 64], &[2; 64], definition.as_bytes()] {
        if run(&mut decoder, message(version, payload)).is_err() {
            return;
        }
    }
}

/// Decodes `bytes` as the payload of a message with the schema `version`. If the payload can be decoded,
/// checks that a reader of the encoded row returns the same row.
pub fn payload(kind: &Kind, version: &[u8], bytes: &[u8]) {
    let Ok(batches) = run(&mut kind.decoder(false, Some(version), BadRows::Fail), message(version, bytes))
    else {
        return;
    };
    let [batch] = batches.as_slice() else { panic!("expected one batch, got {}", batches.len()) };
    assert_eq!(batch.num_rows(), 1, "one message is one row");
    let frames = match kind.encoder(batch.schema()).encode(batch, 1_700_000_000_123) {
        Ok(frames) => frames,
        // The encoder is stricter than the decoder. For example, the decoder accepts JSON in which a field is
        // missing.
        Err(error) if error.kind == ErrorKind::Payload => return,
        Err(error) => panic!("a decoded row cannot be written: {error}"),
    };
    let command =
        frames[0].frames.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes).expect("a frame");
    let written = frames[0].frames[8 + command as usize..].to_vec();
    let again = run(&mut kind.decoder(false, Some(b""), BadRows::Fail), written)
        .unwrap_or_else(|e| panic!("our own row does not decode: {e}"));
    assert_eq!(format!("{:?}", again[0].columns()), format!("{:?}", batch.columns()), "round trip");
}

fn run(decoder: &mut Decoder, bytes: Vec<u8>) -> Result<Vec<RecordBatch>> {
    let mut entries = entries(&[bytes]);
    let _ = entries.num_messages();
    let _ = origins(&entries);
    if !decoder.unknown_versions(&mut entries)?.is_empty() {
        return Ok(Vec::new());
    }
    decoder.push(&mut entries);
    drain(decoder)
}

/// Returns an entry with one message and without a checksum.
fn message(version: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut metadata = metadata();
    if !version.is_empty() {
        put_bytes(&mut metadata, 16, version);
    }
    stored(&metadata, payload)
}

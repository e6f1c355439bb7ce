//! Damaged input, which never causes a panic, a hang or a huge allocation.
//!
//! A damaged entry with a checksum is always an error. A damaged entry without a checksum is an error, or is
//! decoded to wrong data.

use std::sync::Arc;

use crate::common::*;
use _kernel::compression::{Codec, Compressor, decompress};
use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::error::ErrorKind;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};

const AVRO_SCHEMA: &str = r#"{"type":"record","name":"R","fields":[{"name":"id","type":"long"},
  {"name":"s","type":["null","string"]},{"name":"d","type":["null","double"]},
  {"name":"l","type":["null",{"type":"array","items":"string"}]},
  {"name":"m","type":["null",{"type":"map","values":"long"}]}]}"#;

fn batch() -> RecordBatch {
    let columns: [(&str, ArrayRef); 3] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2_000_000, 3]))),
        ("s", Arc::new(StringArray::from(vec![Some("text text text"), None, Some("é")]))),
        ("d", Arc::new(Float64Array::from(vec![Some(1.0), Some(2.5), None]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(n, a)| (n, a, true))).unwrap()
}

fn value_schema() -> arrow_schema::SchemaRef {
    use arrow_schema::{DataType, Field, Fields};
    let mut fields: Vec<Field> = batch().schema().fields().iter().map(|f| f.as_ref().clone()).collect();
    fields.push(Field::new("l", DataType::new_list(DataType::Utf8, true), true));
    let pair = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Int64, true),
    ]);
    let map = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair), false)), false);
    fields.push(Field::new("m", map, true));
    Arc::new(arrow_schema::Schema::new(fields))
}

fn sample(value_type: &str, codec: &str) -> Vec<u8> {
    let batch = batch();
    let mut options = encoder_options(batch.schema(), value_type);
    options.value.value_schema = Some(value_schema());
    options.value.definition = Some(AVRO_SCHEMA.to_owned());
    options.compression = codec.to_owned();
    entries_of(&encoder(&options).encode(&batch, PUBLISH_TIME).unwrap()[0]).remove(0)
}

fn decoder(value_type: &str) -> Decoder {
    let mut options: DecoderOptions =
        options(value_type, value_schema().fields().iter().map(|f| f.as_ref().clone()).collect());
    options.value.value_schema = Some(value_schema());
    options.value.definition = Some(AVRO_SCHEMA.to_owned());
    let mut decoder = Decoder::new(options).unwrap();
    for version in [&[0; 8][..], &[]] {
        decoder.add_writer_schema(version, &avro(AVRO_SCHEMA)).unwrap();
    }
    decoder
}

fn decode(value_type: &str, bytes: &[u8]) -> Result<usize, ErrorKind> {
    let mut decoder = decoder(value_type);
    let mut batch = entries(&[bytes.to_vec()]);
    let _ = batch.num_messages();
    decoder.push(&mut batch);
    let rows = drain(&mut decoder).map_err(|e| e.kind)?;
    Ok(rows.iter().map(RecordBatch::num_rows).sum())
}

const CODECS: [&str; 5] = ["NONE", "LZ4", "ZLIB", "ZSTD", "SNAPPY"];

#[test]
fn every_bit_flip_under_the_checksum_is_an_error() {
    for codec in CODECS {
        let sample = sample("avro", codec);
        assert_eq!(decode("avro", &sample), Ok(3));
        // The flips start at the checksum, because a flip in the magic makes an entry without a checksum.
        for bit in 16..sample.len() * 8 {
            let mut damaged = sample.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode("avro", &damaged), Err(ErrorKind::Corrupt), "{codec} bit {bit}");
        }
    }
}

#[test]
fn bit_flips_without_a_checksum_do_not_panic() {
    for value_type in ["avro", "json"] {
        for codec in CODECS {
            let sample = sample(value_type, codec).split_off(6);
            assert_eq!(decode(value_type, &sample), Ok(3));
            for bit in 0..sample.len() * 8 {
                let mut damaged = sample.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let _ = decode(value_type, &damaged);
            }
        }
    }
}

#[test]
fn every_truncation_is_an_error() {
    for value_type in ["avro", "json"] {
        for codec in CODECS {
            for sample in [sample(value_type, codec), sample(value_type, codec).split_off(6)] {
                for length in 0..sample.len() {
                    let decoded = decode(value_type, &sample[..length]);
                    // The tail of a zlib stream contains no data, and Java does not write it.
                    let tail = codec == "ZLIB" && sample.len() - length <= 6 && decoded == Ok(3);
                    assert!(decoded.is_err() || tail, "{value_type} {codec} {length}");
                }
            }
        }
    }
}

#[test]
fn random_payloads_do_not_panic() {
    // A linear congruential generator with a fixed seed returns the same bytes in every run.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for round in 0..4000 {
        let mut payload: Vec<u8> = (0..round % 60).map(|_| next()).collect();
        let _ = decode("avro", &entry(&metadata(), &payload));
        const JSON: &[u8] = b"{}[]\":,0123456789.eE-+\\untrfaslid sm";
        payload.iter_mut().for_each(|b| *b = JSON[*b as usize % JSON.len()]);
        payload.insert(0, b'{');
        let _ = decode("json", &entry(&metadata(), &payload));
    }
}

#[test]
fn codecs_refuse_a_wrong_uncompressed_size() {
    let data = b"some text, some text, some text, some text".repeat(3);
    for codec in [Codec::Lz4, Codec::Zlib, Codec::Zstd, Codec::Snappy] {
        let packed = Compressor::new(codec).compress(&data).unwrap().to_vec();
        assert_eq!(decompress(codec, &packed, data.len(), 1 << 30).unwrap(), data);
        for wrong in [1, data.len() - 1, data.len() + 1, 1 << 29, usize::MAX] {
            assert!(decompress(codec, &packed, wrong, 1 << 30).is_err(), "{codec:?} {wrong}");
        }
        assert_eq!(decompress(codec, b"\0", 0, 1 << 30).unwrap(), b"");
        let error = decompress(codec, &packed, 0, 1 << 30).expect_err("content that says it is none");
        assert_eq!(error.kind, ErrorKind::Corrupt, "{codec:?} {error}");
        let error = decompress(codec, &packed, data.len(), data.len() - 1).unwrap_err();
        assert_eq!(error.kind, ErrorKind::TooLarge, "{codec:?} {error}");
    }
}

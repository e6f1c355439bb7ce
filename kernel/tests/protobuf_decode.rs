//! Decoding of Protobuf: rules of the wire format, values that do not fit, and random bytes.

use crate::message::*;
use _kernel::decode::DecoderOptions;
use _kernel::error::ErrorKind;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};

fn texts(array: &ArrayRef) -> Vec<Option<&str>> {
    array.as_string::<i32>().iter().collect()
}

#[test]
fn absent_fields_have_their_default_or_are_null() {
    let batch = row(b"");
    assert_eq!(batch["id"].as_primitive::<Int32Type>().values(), &[0]);
    assert_eq!(texts(&batch["level"]), [Some("HIGH")]);
    assert_eq!(batch["list"].as_list::<i32>().value(0).len(), 0);
    assert_eq!(batch["map"].as_map().value(0).len(), 0);
    for name in ["text", "inner", "left", "right", "blobs", "at", "took", "ratio", "flag"] {
        assert!(batch[name].is_null(0), "{name}");
    }
}

#[test]
fn the_last_scalar_wins_and_messages_merge() {
    // The payload has `id` twice, `inner` in two parts, and `blobs` in two parts.
    let batch =
        row(b"\x08\x01\x22\x02\x08\x05\x22\x03\x12\x01a\x08\x02\x22\x03\x12\x01b\xa2\x38\x01x\xa2\x38\x01y");
    assert_eq!(batch["id"].as_primitive::<Int32Type>().value(0), 2);
    let inner = batch["inner"].as_struct();
    assert_eq!(inner["x"].as_primitive::<Int64Type>().value(0), 5);
    assert_eq!(texts(&inner["names"].as_list::<i32>().value(0)), [Some("a"), Some("b")]);
    assert_eq!(batch["blobs"].as_binary::<i32>().value(0), b"xy");
}

#[test]
fn lists_may_be_packed_or_not_and_in_parts() {
    let batch = row(b"\x1a\x02\x01\x02\x08\x07\x18\x03\x1a\x00\x18\x04");
    assert_eq!(batch["list"].as_list::<i32>().value(0).as_primitive::<Int64Type>().values(), &[-1, 1, -2, 2]);
}

#[test]
fn the_last_member_of_a_oneof_counts() {
    // The payload has right {x: 1, names: [a]}, left 5, and right {names: [b]}. The first `right` is discarded.
    let batch = row(b"\x42\x05\x08\x01\x12\x01a\x3d\x05\0\0\0\x42\x03\x12\x01b");
    let right = batch["right"].as_struct();
    assert!(batch["left"].is_null(0) && right["x"].is_null(0));
    assert_eq!(texts(&right["names"].as_list::<i32>().value(0)), [Some("b")]);
    // A member without a column also replaces earlier members.
    let payload: &[u8] = b"\x42\x02\x08\x01\x3d\x05\0\0\0";
    let batch = decode(options_of(&["right"]), &[payload]).unwrap();
    assert!(batch["right"].is_null(0));
}

#[test]
fn the_last_entry_of_a_key_counts() {
    let entry = |key: u8, x: u8| vec![0x2a, 7, 0x0a, 1, key, 0x12, 2, 0x08, x];
    for keys in [2u8, 40] {
        let mut payload: Vec<u8> = (0..keys).flat_map(|key| entry(key, 1)).collect();
        payload.extend(entry(0, 9));
        // An entry without key and value has the key "" and an empty message.
        payload.extend([0x2a, 0]);
        let batch = decode(options_of(&[]), &[b"\x2a\x03\x0a\x01z", &payload, b""]).unwrap();
        let map = batch["map"].as_map();
        assert_eq!(
            (map.value_length(0), map.value_length(1), map.value_length(2)),
            (1, i32::from(keys) + 1, 0)
        );
        let entries = map.value(1);
        let last = usize::from(keys);
        let (names, values) = (entries.column(0).as_string::<i32>(), entries.column(1).as_struct());
        assert_eq!(names.value(last - 1), "\0");
        assert_eq!(values["x"].as_primitive::<Int64Type>().value(last - 1), 9);
        assert!(names.value(last).is_empty() && values.is_valid(last) && values["x"].is_null(last));
    }
}

#[test]
fn groups_enums_times_and_wrappers_decode() {
    let batch = row(b"\x53\x08\x07\x54\x53\x9b\x06\x9c\x06\x54\x30\x07");
    assert_eq!(
        batch["group"].as_list::<i32>().value(0).as_struct()["x"].as_primitive::<Int64Type>().len(),
        2
    );
    assert_eq!(texts(&batch["level"]), [Some("7")]);
    let below = b"\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    let batch = decode(options_of(&["level"]), &[b"\x30\x00", below]).unwrap();
    assert_eq!(texts(&batch["level"]), [Some("LOW"), Some("BELOW")]);
    // -1 s and 1999 ns; -1 s and -1999 ns.
    let minus_one = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    let nanos = 1999u64.wrapping_neg();
    let mut payload =
        [b"\x5a\x0e".as_slice(), minus_one, b"\x10\xcf\x0f\x62\x16", minus_one, b"\x10"].concat();
    _kernel::wire::put_varint(&mut payload, nanos);
    payload.extend(b"\x6a\x00\x6a\x03\x0a\x01q");
    let batch = row(&payload);
    let micros = |name: &str| batch[name].to_data().buffers()[0].typed_data::<i64>()[0];
    assert_eq!((micros("at"), micros("took")), (-999_999, -1_000_001));
    assert_eq!(texts(&batch["boxed"].as_list::<i32>().value(0)), [Some(""), Some("q")]);
}

#[test]
fn unknown_fields_are_skipped() {
    let batch = row(
        b"\xa0\x06\x01\xa1\x06abcdefgh\xa2\x06\x02ab\xa5\x06abcd\xa3\x06\x0b\x08\x01\x0c\xa4\x06\x08\x05",
    );
    assert_eq!(batch["id"].as_primitive::<Int32Type>().value(0), 5);
}

#[test]
fn errors_name_the_field_and_the_byte() {
    let deep = [0xa3, 0x06].repeat(200);
    let cases: Vec<(&[u8], &str)> = vec![
        (b"\x08", "field id, byte 1: expected a whole number, got the end"),
        (b"\x08\x01\x12\x05ab", "field text, byte 3: expected a field of 5 bytes, got 2"),
        (b"\x12\x01\xff", "field text, byte 3: expected UTF-8"),
        (b"\x0a\x00", "field id, byte 1: expected wire type 0, got 2"),
        (
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "field id, byte 1: expected a varint of at most 10",
        ),
        (b"\x22\x02\x0a\x00", "field inner.x, byte 3: expected wire type 0, got 2"),
        (b"\x2a\x04\x12\x02\x08\x80", "field map.value.x, byte 5: expected a whole number"),
        (b"\x2a\x02\x08\x01", "field map, byte 3: expected a key of wire type 2, got 0"),
        (b"\x1a\x02\x01\x80", "field list, byte 3: expected a whole number"),
        (b"\x1d\0\0\0\0", "field list, byte 1: expected wire type 0, got 5"),
        (b"\x53\x08\x01", "field group, byte 3: expected a whole number, got the end"),
        (b"\x53\x5c", "field group, byte 2: expected the end of group 10, got the end of group 11"),
        (b"\xa4\x06", "byte 2: expected a field, got the end of group 100, which is not open"),
        (b"\x3d\0\0", "field left, byte 1: expected 4 bytes"),
        (b"\x71\0", "field ratio, byte 1: expected 8 bytes"),
        (b"\x5a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "field at, byte 12: expected a time"),
        (b"\x5a\x01\x0a", "field at, byte 3: expected wire type 0, got 2"),
        (b"\x6a\x02\x08\x00", "field boxed, byte 3: expected wire type 2, got 0"),
        (b"\x00", "byte 0: expected a field number"),
        (b"\x07", "byte 0: expected a field number"),
        (b"\x0f", "field id, byte 1: expected wire type 0, got 7"),
        (b"\xa6\x06", "byte 2: expected a wire type from 0 to 5, got 6 in field 100"),
        (b"\xff\xff\xff\xff\xff\xff\x01", "byte 0: expected a field number"),
        (
            b"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "field inner, byte 1: expected a field of 18446744073709551615",
        ),
        (&deep, "expected at most 100 nested groups"),
    ];
    for (payload, expected) in cases {
        let error = decode(options_of(&[]), &[b"\x08\x01", payload]).expect_err(expected);
        assert_eq!((error.kind, error.at.map(|at| at.entry)), (ErrorKind::Payload, Some(1)), "{error}");
        assert!(error.message.contains(expected), "{expected}: {error}");
    }
}

/// A xorshift generator, which returns the same numbers in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

#[test]
fn damaged_messages_are_values_or_bad_payloads() {
    let valid: Vec<&[u8]> = vec![
        b"\x08\x01\x12\x03abc\x1a\x02\x01\x02\x22\x07\x08\x05\x12\x01a\x12\x00\x2a\x07\x0a\x01k\x12\x02\x08\x01\x30\x02",
        b"\x42\x05\x08\x01\x12\x01a\x3d\x05\0\0\0\x42\x03\x12\x01b\xa2\x38\x01x\x53\x08\x07\x54\x53\x12\x01q\x54",
        b"\x5a\x04\x08\x01\x10\x01\x62\x04\x08\x01\x10\x01\x6a\x03\x0a\x01q\x71abcdefgh\x7a\x03\xff\xff\x03\x80\x01\x01",
        b"\x2a\x03\x0a\x01z\x2a\x03\x0a\x01z\xa3\x06\x0b\x08\x01\x0c\xa4\x06\x08\x05",
    ];
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut fine, mut refused) = (0, 0);
    for _ in 0..100_000 {
        let mut payload: Vec<u8> =
            (0..=dice.roll(3)).flat_map(|_| valid[dice.roll(valid.len())].to_vec()).collect();
        for _ in 0..=dice.roll(4) {
            let at = dice.roll(payload.len());
            match dice.roll(4) {
                0 => payload[at] = dice.roll(256) as u8,
                1 => payload[at] ^= 1 << dice.roll(8),
                2 => payload.truncate(at.max(1)),
                _ => payload.insert(at, dice.roll(256) as u8),
            }
        }
        match decode(options_of(&[]), &[b"\x08\x01", &payload, b""]) {
            Ok(batch) => {
                assert_eq!(batch.num_rows(), 3);
                fine += 1;
            }
            Err(error) => {
                assert_eq!(
                    (error.kind, error.at.map(|at| at.entry)),
                    (ErrorKind::Payload, Some(1)),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    assert!(fine > 5_000 && refused > 50_000, "{fine} fine, {refused} refused");
}

#[test]
fn a_required_field_needs_a_value() {
    let required = |field: &str| {
        let optional = format!(r#"{field}, "shape": "optional""#);
        assert!(PLAN.contains(&optional));
        PLAN.replace(&optional, &optional.replace("optional", "required"))
    };
    let read = |definition: &str, payload: &[u8]| {
        decode(
            DecoderOptions { value: schema(definition), ..options_of(&["id", "text", "inner"]) },
            &[payload],
        )
    };
    let own = required(r#""number": 2, "kind": "string""#);
    assert_eq!(texts(&read(&own, b"\x12\x00").unwrap()["text"]), [Some("")]);
    let error = read(&own, b"\x08\x01").unwrap_err();
    assert_eq!((error.kind, error.at.map(|at| at.entry)), (ErrorKind::Payload, Some(0)));
    assert!(error.message.contains("text: expected a value of a required field, got none"), "{error}");
    let nested = required(r#""name": "x", "number": 1, "kind": "int64""#);
    assert!(read(&nested, b"\x08\x01").unwrap()["inner"].is_null(0));
    assert!(read(&nested, b"\x22\x02\x08\x05").unwrap()["inner"].is_valid(0));
    let error = read(&nested, b"\x22\x00").unwrap_err();
    assert!(error.message.contains("inner: x: expected a value"), "{error}");
}

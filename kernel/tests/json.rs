//! JSON text to columns: values, skipped members and refused texts.

use std::sync::Arc;

use crate::common::*;
use _kernel::decode::{Decoder, DecoderOptions};
use _kernel::error::{ErrorKind, KernelError};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field, Fields, Schema};

fn fields() -> Vec<Field> {
    let point = DataType::Struct(Fields::from(vec![
        Field::new("x", DataType::Int32, true),
        Field::new("y", DataType::Utf8, true),
    ]));
    let pair = Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", point.clone(), true),
    ]);
    let entries = Field::new("entries", DataType::Struct(pair), false);
    vec![
        Field::new("n", DataType::Int64, true),
        Field::new("d", DataType::Float64, true),
        Field::new("t", DataType::Utf8, true),
        Field::new("b", DataType::Boolean, true),
        Field::new("raw", DataType::Binary, true),
        Field::new("list", DataType::new_list(point.clone(), true), true),
        Field::new("map", DataType::Map(Arc::new(entries), false), true),
        Field::new("point", point, true),
        Field::new("ü\"", DataType::Int64, true),
    ]
}

fn json_options(fields: Vec<Field>) -> DecoderOptions {
    let mut options = options("json", fields.clone());
    options.value.value_schema = Some(Arc::new(Schema::new(fields)));
    options
}

/// Return the columns of a message that is decoded after another message.
fn columns(fields: Vec<Field>, text: &[u8]) -> Result<Vec<ArrayRef>, KernelError> {
    let before = br#"{"n": 1, "t": "before", "list": [{"x": 1}], "map": {"k": {"y": "v"}}, "raw": "AAE="}"#;
    let mut decoder = Decoder::new(json_options(fields))?;
    decoder.push(&mut entries(&[entry(&metadata(), before), entry(&metadata(), text)]));
    let batches = drain(&mut decoder)?;
    Ok(batches[0].columns().iter().map(|column| column.slice(1, 1)).collect())
}

/// Return the value of column `name` as text. An empty text is null.
fn column_text(name: &str, text: &str) -> Result<String, KernelError> {
    let index = fields().iter().position(|field| field.name() == name).unwrap();
    let column = columns(fields(), text.as_bytes())?.remove(index);
    Ok(ArrayFormatter::try_new(&column, &FormatOptions::default()).unwrap().value(0).to_string())
}

fn assert_value(name: &str, text: &str, expected: &str) {
    assert_eq!(column_text(name, text).expect(text), expected, "{text}");
}

fn assert_refused(text: &str, why: &str) {
    let error = columns(fields(), text.as_bytes()).expect_err(text);
    assert_eq!(error.kind, ErrorKind::Payload, "{text}");
    assert_eq!(error.at.map(|at| at.entry), Some(1), "{text}");
    assert!(error.message.contains(why), "{text}: {}", error.message);
}

#[test]
fn the_last_of_equal_keys_counts() {
    assert_value("n", r#"{"n": 5, "n": 7}"#, "7");
    assert_value("n", r#"{"n": 5, "n": null}"#, "");
    assert_value("b", r#"{"b": true, "b": false}"#, "false");
    assert_value("t", r#"{"t": "long before", "d": 1, "t": "after", "t": "x"}"#, "x");
    assert_value("raw", r#"{"raw": "AAAA", "raw": "//8="}"#, "ffff");
    assert_value("list", r#"{"list": [{"x": 1}, {"x": 2}], "list": [{"x": 3}]}"#, "[{x: 3, y: }]");
    assert_value("map", r#"{"map": {"a": {}, "b": {}}, "map": {"c": {"y": "z"}}}"#, "{c: {x: , y: z}}");
    assert_value("map", r#"{"map": {"a": {"x": 1}, "b": null, "a": {"x": 2}}}"#, "{b: , a: {x: 2, y: }}");
    assert_value("map", r#"{"map": {"a": {}, "a": {}}, "map": {"a": {"x": 1}}}"#, "{a: {x: 1, y: }}");
    assert_value("map", r#"{"map": {"a": {}, "\u0061": {"x": 3}}}"#, "{a: {x: 3, y: }}");
    let many: Vec<String> = (0..50).map(|i| format!(r#""k{}": {{"x": {i}}}"#, i % 2)).collect();
    assert_value(
        "map",
        &format!(r#"{{"map": {{{}}}}}"#, many.join(",")),
        "{k0: {x: 48, y: }, k1: {x: 49, y: }}",
    );
    assert_value("point", r#"{"point": {"x": 1, "y": "a"}, "point": {"x": 2, "x": 3}}"#, "{x: 3, y: }");
    assert_value("point", r#"{"point": null, "point": {"x": 4}}"#, "{x: 4, y: }");
}

#[test]
fn fields_may_be_in_any_order_or_missing() {
    assert_value("n", r#"{"point": {"y": "a", "x": 1}, "t": "x", "n": 5}"#, "5");
    assert_value("t", "{}", "");
    assert_value("n", "\r\n\t {\"n\" :\t5 ,\n\"t\": \"x\" } \n", "5");
    assert_value("n", r#"{"N": 1, "nn": 2, "": 3}"#, "");
    assert_value("n", r#"{"other": {"n": [1, {"n": "}"}, true, null, -1.5e-3]}, "n": 6}"#, "6");
    assert_value("ü\"", r#"{"ü\"": 1}"#, "1");
    assert_value("ü\"", "{\"\\u00fc\\u0022\": 2}", "2");
    let many: Vec<Field> = (0..40).map(|i| Field::new(format!("f{i}"), DataType::Int64, true)).collect();
    let text: Vec<String> = (0..40).rev().map(|i| format!("\"f{i}\": {i}")).collect();
    for (i, column) in
        columns(many, format!("{{{}}}", text.join(", ")).as_bytes()).unwrap().iter().take(40).enumerate()
    {
        assert_eq!(column.as_primitive::<Int64Type>().value(0), i as i64);
    }
}

#[test]
fn texts_are_unescaped() {
    assert_value("t", r#"{"t": "\"\\\/\b\f\n\r\t"}"#, "\"\\/\u{8}\u{c}\n\r\t");
    assert_value("t", "{\"t\": \"a\\u00e9\\u0000\\ud83d\\uDE00z\"}", "aé\0😀z");
    assert_value("t", "{\"t\": \"aé😀\"}", "aé😀");
    for length in 0..70 {
        let text = "x".repeat(length);
        assert_value("t", &format!(r#"{{"t": "{text}"}}"#), &text);
        assert_value("t", &format!(r#"{{"t": "{text}\n{text}"}}"#), &format!("{text}\n{text}"));
    }
    for bad in
        [r"\ud83d", r"\ude00", r"\ud83d\n", r"\ud83dA", r"\ud83d\ud83d", r"\u12", r"\u+123", r"\x", r"\u12é"]
    {
        assert_refused(&format!(r#"{{"t": "{bad}"}}"#), "not JSON");
        assert_refused(&format!(r#"{{"unknown": "{bad}"}}"#), "not JSON");
    }
    let error = columns(fields(), b"{\"unknown\": \"\xff\"}").unwrap_err();
    assert!(error.message.contains("at byte 13: expected UTF-8"), "{}", error.message);
}

#[test]
fn a_character_that_two_texts_share_is_not_text() {
    // The two halves form a character only if the texts are joined. Each text is checked separately.
    let payload = [b"{\"t\": \"", [b'x'; 40].as_slice(), b"\xc3\", \"point\": {\"y\": \"\xa9\"}}"].concat();
    let error = columns(fields(), &payload).unwrap_err();
    let why =
        "message 7:1: not JSON, at byte 47: expected UTF-8: invalid utf-8 sequence of 1 bytes from index 47";
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Payload, why));
    assert_eq!(error.at.map(|at| at.entry), Some(1));
}

#[test]
fn keys_of_every_length_are_distinguished() {
    for length in 1..40 {
        let name = "k".repeat(length);
        let other = format!("{}x", &name[1..]);
        let fields = [&name, &other].map(|name| Field::new(name, DataType::Int64, true)).to_vec();
        let mut decoder = Decoder::new(json_options(fields)).unwrap();
        let payloads = [
            format!(r#"{{"{name}":1,"{other}":2}}"#),
            format!(r#"{{"{other}":3,"{name}":4}}"#),
            format!(r#"{{"{name}{name}":0,"{name}":5}}"#),
            format!(r#"{{"{name}":6}}"#),
        ];
        let data = payloads.map(|payload| entry(&metadata(), payload.as_bytes()));
        decoder.push(&mut entries(&data));
        let batch = drain(&mut decoder).unwrap().remove(0);
        let numbers =
            |index: usize| batch.column(index).as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        assert_eq!(numbers(0), [Some(1), Some(4), Some(5), Some(6)], "{length}");
        assert_eq!(numbers(1), [Some(2), Some(3), None, None], "{length}");
    }
}

#[test]
fn integers_are_read_exactly_or_refused() {
    for (text, value) in [
        ("0", 0),
        ("-0", 0),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
        ("-9223372036854775807", -i64::MAX),
        ("1.0", 1),
        ("2e3", 2000),
        ("-12.50e1", -125),
        ("\"42\"", 42),
        ("\" +42.0 \"", 42),
        // These numbers need more digits than a double has.
        ("9007199254740993.0", 9_007_199_254_740_993),
        ("9.223372036854775807e18", i64::MAX),
        ("-9223372036854775808.000", i64::MIN),
        ("\"9007199254740993.0\"", 9_007_199_254_740_993),
    ] {
        assert_value("n", &format!(r#"{{"n": {text}}}"#), &value.to_string());
    }
    for bad in [
        "9223372036854775808",
        "-9223372036854775809",
        "9223372036854775808.0",
        "18446744073709551617",
        "1.5",
        "9007199254740993.5",
        "1e30",
        "1e999999999999",
        "1e-999999999999",
        "\"\"",
        "\"inf\"",
        "\"0x10\"",
        "true",
    ] {
        assert_refused(&format!(r#"{{"n": {bad}}}"#), "does not fit its schema in field n, at byte 6");
    }
    for bad in ["01", "-", "+1", ".5", "1.", "1e", "1e+", "-a", "0x1", "1_0", "NaN", "--1", "00"] {
        assert_refused(&format!(r#"{{"n": {bad}}}"#), "not JSON");
        assert_refused(&format!(r#"{{"d": {bad}}}"#), "not JSON");
        assert_refused(&format!(r#"{{"unknown": {bad}}}"#), "not JSON");
    }
}

#[test]
fn doubles_are_the_nearest_to_their_text() {
    let mut state = 1u64;
    let mut texts: Vec<String> = Vec::new();
    for round in 0..2000u32 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let digits = (state >> 11).to_string();
        let point = 1 + (state as usize >> 3) % (digits.len() - 1);
        let sign = if round % 2 == 0 { "-" } else { "" };
        let exponent = if round % 3 == 0 { format!("e{}", round as i32 % 600 - 300) } else { String::new() };
        let short = 2 + round as usize % (digits.len() - 1);
        let cut = digits.len().min(point + short);
        texts.push(format!("{sign}{}.{}0{exponent}", &digits[..point], &digits[point..cut]));
    }
    let fixed =
        ["0.1", "-0.0", "0", "1e-400", "4.9e-324", "123456789012345.5", "1.7976931348623157e308", "0.3"];
    texts.extend(fixed.map(String::from));
    for text in texts {
        let column = columns(fields(), format!(r#"{{"d": {text}}}"#).as_bytes()).unwrap().remove(1);
        let got = column.as_primitive::<Float64Type>().value(0);
        assert_eq!(got.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
    for (text, expected) in [("NaN", "NaN"), ("Infinity", "inf"), ("-Infinity", "-inf"), ("1.5", "1.5")] {
        assert_value("d", &format!(r#"{{"d": "{text}"}}"#), expected);
    }
    for bad in ["1e400", "-1e400", "\"1e400\"", "\"x\"", "\"nan\"", "\"infinity\"", "\"\"", "true", "[]"] {
        assert_refused(&format!(r#"{{"d": {bad}}}"#), "expected a number");
    }
    assert_value("d", r#"{"d": " 1.5e3 "}"#, "1500.0");
}

#[test]
fn text_that_is_not_one_object_is_refused() {
    for bad in ["", " ", "[]", "1", "null", "\"{}\"", "[{}]", "x", "\u{feff}{}"] {
        assert_refused(bad, "");
    }
    for bad in [
        "{",
        "{,}",
        "{\"n\"}",
        "{\"n\":}",
        "{\"n\":1,}",
        "{\"n\":1 \"t\":2}",
        "{n:1}",
        "{'n':1}",
        "{\"n\":1]",
        "{\"list\":[,]}",
        "{\"list\":[{},]}",
        "{\"list\":[{}}",
        "{\"list\":[{} {}]}",
        "{\"u\":[1,]}",
        "{\"u\":tru}",
        "{\"n\":nul}",
        "{\"b\":True}",
        "{\"u\":[}",
        "{\"u\":{]}",
        "{\"n\" 1}",
        "{\"n\"::1}",
        "{\"t\":\"",
        "{}\u{0}",
    ] {
        assert_refused(bad, "");
    }
    assert_refused("{} {}", "exactly one JSON object");
    let whole = r#"{"n": -1.0e1, "t": "a\u00e9", "list": [{"x": 1}, null], "map": {"k": {}}, "u": [true, {"a": null}]}"#;
    column_text("n", whole).unwrap();
    for end in 0..whole.len() {
        assert_refused(&whole[..end], "");
    }
}

#[test]
fn errors_name_the_field_and_the_byte() {
    assert_refused(
        r#"{"list": [{"x": 1}, {"x": "a"}]}"#,
        "in field list[].x, at byte 26: expected an integer of 32 bits",
    );
    assert_refused(
        r#"{"map": {"k": {"y": 1}}}"#,
        "in field map.k.y, at byte 20: expected a text, got \"1}}}\"",
    );
    assert_refused(r#"{"point": []}"#, "in field point, at byte 10: expected an object");
    assert_refused(r#"{"list": {}}"#, "expected an array");
    assert_refused(r#"{"b": 1}"#, "expected a boolean");
    for bad in ["€", "abc", "plain text", "AAE", "AAE=\\n", "-_8="] {
        assert_refused(&format!(r#"{{"raw": "{bad}"}}"#), "expected bytes as base64 text");
    }
    assert_refused(r#"{"point": {"x": 2147483648}}"#, "32 bits");
}

#[test]
fn nesting_is_limited() {
    let nested = |depth: usize| format!(r#"{{"u": {}{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_value("n", &nested(1000), "");
    assert_refused(&nested(1002), "at most 1000 nested arrays and objects");
    assert_refused(&format!(r#"{{"u": {}"#, "[".repeat(1_000_000)), "at most 1000 nested arrays and objects");
    assert_refused(
        &format!(r#"{{"u": {}"#, "{\"a\":".repeat(1_000_000)),
        "at most 1000 nested arrays and objects",
    );
}

/// Each object has its keys in a random order: some are repeated, missing, unknown, escaped or followed by spaces.
///
/// The keys of earlier objects must not affect the values.
#[test]
fn any_order_of_keys_may_follow_any_other() {
    for seed in 1..=20u64 {
        let mut state = seed;
        let mut below = |end: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % end
        };
        let width = 1 + below(30) as usize;
        let fields: Vec<Field> =
            (0..width).map(|i| Field::new(format!("k{i}"), DataType::Int64, true)).collect();
        let mut expected = Vec::new();
        let mut pushed = Vec::new();
        for _ in 0..200 {
            let jumps = below(4) == 0;
            let mut members = Vec::new();
            for place in 0..below(2 * width as u64 + 4) {
                let key = if jumps { below(width as u64 + 90) } else { place } as usize;
                let value = below(1000);
                match below(12) {
                    0 => members.push(format!(r#""\u006b{key}": {value}"#)),
                    1 => members.push(format!("\"k{key}\" :{value}")),
                    2 if key >= width => {
                        members.push(format!("\"k{key}\":{{\"k0\":\"}}\\\"\",\"n\":[{value}]}}"));
                    }
                    3 => {}
                    _ => members.push(format!("\"k{key}\":{value}")),
                }
            }
            let mut row = vec![None; width];
            for (key, field) in row.iter_mut().enumerate() {
                let named = [format!("\"k{key}\""), format!(r#""\u006b{key}""#)];
                *field = members.iter().rev().find_map(|member| {
                    let (name, value) = member.split_once(':')?;
                    named.iter().any(|known| known == name.trim()).then(|| value.trim().parse().ok())?
                });
            }
            pushed.push(entry(&metadata(), format!("{{{}}}", members.join(",")).as_bytes()));
            expected.push(row);
        }
        let mut decoder = Decoder::new(json_options(fields)).unwrap();
        decoder.push(&mut entries(&pushed));
        let mut got = Vec::new();
        for batch in drain(&mut decoder).unwrap() {
            let columns: Vec<_> =
                batch.columns()[..width].iter().map(|column| column.as_primitive::<Int64Type>()).collect();
            for row in 0..batch.num_rows() {
                got.push(
                    columns
                        .iter()
                        .map(|column| column.is_valid(row).then(|| column.value(row)))
                        .collect::<Vec<_>>(),
                );
            }
        }
        assert_eq!(got, expected, "seed {seed}");
    }
}

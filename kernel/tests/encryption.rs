//! Encrypted entries, which these tests encrypt with AES-GCM, or which `MessageCryptoBc` of the Java client
//! encrypted.

use crate::common::*;
use _kernel::decode::{BadRows, Decoder, IntakeOptions};
use _kernel::encryption::OnFailure;
use _kernel::error::{ErrorKind, MessageRef, Result};
use _kernel::selection::Range;
use _kernel::wire::{put_bytes, put_number};
use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm, Nonce};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field};

const KEY: [u8; 32] = [7; 32];
const NONCE: [u8; 12] = [9; 12];

/// Return metadata with encryption fields for the keys `names`. The wrapped data key is the text `wrapped-NAME`.
fn sealed_metadata(names: &[&str]) -> Vec<u8> {
    let mut out = metadata();
    for name in names {
        let mut key = Vec::new();
        put_bytes(&mut key, 1, name.as_bytes());
        put_bytes(&mut key, 2, format!("wrapped-{name}").as_bytes());
        put_bytes(&mut key, 3, b"\x0a\x01v\x12\x011");
        put_bytes(&mut out, 13, &key);
    }
    put_bytes(&mut out, 15, &NONCE);
    out
}

fn seal(payload: &[u8]) -> Vec<u8> {
    Aes256Gcm::new_from_slice(&KEY).unwrap().encrypt(&Nonce::from(NONCE), payload).unwrap()
}

fn sealed_batch(names: &[&str], count: usize) -> Vec<u8> {
    let mut md = sealed_metadata(names);
    put_number(&mut md, 11, count as u64);
    entry(&md, &seal(&batch_payload(count)))
}

fn decoder(on_failure: OnFailure, value_type: &str) -> Decoder {
    let kind = if value_type == "bytes" { DataType::Binary } else { DataType::Utf8 };
    let mut options = options(value_type, vec![Field::new("value", kind, true)]);
    options.intake = IntakeOptions { on_crypto_failure: on_failure, ..IntakeOptions::default() };
    Decoder::new(options).unwrap()
}

/// Decode `data`, and call `unwrap_key` for each data key that the decoder needs.
fn decode(
    decoder: &mut Decoder,
    data: &[Vec<u8>],
    mut unwrap_key: impl FnMut(&str) -> std::result::Result<Vec<u8>, String>,
) -> Result<Vec<RecordBatch>> {
    decoder.push(&mut entries(data));
    let mut out = Vec::new();
    loop {
        out.extend(drain(decoder)?);
        let wanted = decoder.needed_data_keys().to_vec();
        if wanted.is_empty() {
            return Ok(out);
        }
        for key in wanted {
            match unwrap_key(&key.name) {
                Ok(data_key) => decoder.add_data_key(&key.wrapped, &data_key),
                Err(why) => decoder.refuse_data_key(&key.wrapped, &why),
            }
        }
    }
}

fn no_key(name: &str) -> std::result::Result<Vec<u8>, String> {
    Err(format!("no private key for {name}"))
}

#[test]
fn a_key_is_requested_once() {
    let mut requested_keys = Vec::new();
    let data = [sealed_batch(&["k"], 2), batched_entry(1), sealed_batch(&["k"], 1)];
    let batches = decode(&mut decoder(OnFailure::Fail, "string"), &data, |name| {
        requested_keys.push(name.to_owned());
        Ok(KEY.to_vec())
    })
    .unwrap();
    let expected: Vec<_> = ["m0", "m1", "m0", "m0"].map(|v| Some(v.to_owned())).into();
    assert_eq!(strings(&batches[0], "value"), expected);
    assert_eq!(requested_keys, ["k"]);
}

#[test]
fn one_key_of_several_is_enough() {
    let data = [sealed_batch(&["lost", "held"], 1)];
    let batches = decode(&mut decoder(OnFailure::Fail, "string"), &data, |name| {
        if name == "held" { Ok(KEY.to_vec()) } else { no_key(name) }
    });
    assert_eq!(batches.unwrap()[0].num_rows(), 1);
}

#[test]
fn the_error_names_the_message_the_keys_and_the_reason() {
    let cases: [(&[u8], &str); 3] =
        [(b"", "no private key for a"), (&[1; 32], "does not authenticate"), (&[1; 5], "5 bytes")];
    for (key, reason) in cases {
        let data = [batched_entry(1), sealed_batch(&["a"], 2)];
        let error = decode(&mut decoder(OnFailure::Fail, "bytes"), &data, |name| {
            if key.is_empty() { no_key(name) } else { Ok(key.to_vec()) }
        })
        .unwrap_err();
        assert_eq!(error.kind, ErrorKind::Encrypted);
        assert_eq!(error.at, Some(MessageRef { ledger: 7, entry: 1, batch_index: -1 }));
        assert!(error.message.contains("[\"a\"]") && error.message.contains(reason), "{error}");
    }
}

#[test]
fn discard_returns_no_row_and_counts_the_message() {
    let mut decoder = decoder(OnFailure::Discard, "string");
    let data = [sealed_batch(&["a"], 2), batched_entry(1), sealed_batch(&["a"], 3)];
    let batches = decode(&mut decoder, &data, no_key).unwrap();
    assert_eq!(batches[0].num_rows(), 1);
    assert_eq!(decoder.discarded(), 2);
}

#[test]
fn consume_returns_the_encrypted_entry_as_one_row() {
    let batch =
        &decode(&mut decoder(OnFailure::Consume, "bytes"), &[sealed_batch(&["a"], 2)], no_key).unwrap()[0];
    assert_eq!(batch.num_rows(), 1);
    assert_eq!(batch.column_by_name("value").unwrap().as_binary::<i32>().value(0), seal(&batch_payload(2)));
    let properties = batch.column_by_name("__messageProperties").unwrap().as_map();
    assert_eq!(properties.keys().as_string::<i32>().value(0), "__encryption");
    let context: serde_json::Value =
        serde_json::from_str(properties.values().as_string::<i32>().value(0)).unwrap();
    assert_eq!(context["batchSize"], 2);
    assert_eq!(context["param"], "CQkJCQkJCQkJCQkJ");
    assert_eq!(context["keys"][0]["name"], "a");
    assert_eq!(context["keys"][0]["value"], "d3JhcHBlZC1h");
    assert_eq!(context["keys"][0]["metadata"]["v"], "1");
}

#[test]
fn consume_refuses_values_that_are_not_bytes() {
    let error =
        decode(&mut decoder(OnFailure::Consume, "string"), &[sealed_batch(&["a"], 1)], no_key).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Payload, "a bad row");
    let mut options = options("avro", Vec::new());
    options.intake.on_crypto_failure = OnFailure::Consume;
    let mut without_value = Decoder::new(options).unwrap();
    assert_eq!(decode(&mut without_value, &[sealed_batch(&["a"], 4)], no_key).unwrap()[0].num_rows(), 1);
}

#[test]
fn a_consumed_batch_has_the_position_of_its_first_message() {
    for (start, end, expected) in
        [((7, 0, 1), (7, 9, 0), 0), ((7, 0, 0), (7, 0, 1), 1), ((7, 0, 0), (7, 0, 0), 0)]
    {
        let mut options = options("bytes", vec![Field::new("value", DataType::Binary, true)]);
        options.intake.on_crypto_failure = OnFailure::Consume;
        options.range = Range { start: Some(start), end: Some(end) };
        let mut decoder = Decoder::new(options).unwrap();
        let batches = decode(&mut decoder, &[sealed_batch(&["a"], 3)], no_key).unwrap();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), expected);
    }
}

fn sealed_chunk(id: u64, piece: &[u8]) -> Vec<u8> {
    let mut md = sealed_metadata(&["a"]);
    put_bytes(&mut md, 26, b"u");
    put_number(&mut md, 27, 2);
    put_number(&mut md, 28, 6);
    put_number(&mut md, 29, id);
    entry(&md, &seal(piece))
}

#[test]
fn each_chunk_is_decrypted_separately() {
    let data = [sealed_chunk(0, b"abc"), sealed_chunk(1, b"def")];
    let batches = decode(&mut decoder(OnFailure::Fail, "string"), &data, |_| Ok(KEY.to_vec())).unwrap();
    assert_eq!(strings(&batches[0], "value"), [Some("abcdef".to_owned())]);
    assert_eq!(decode(&mut decoder(OnFailure::Discard, "string"), &data, no_key).unwrap().len(), 0);
    let consumed = &decode(&mut decoder(OnFailure::Consume, "bytes"), &data, no_key).unwrap()[0];
    assert_eq!(consumed.num_rows(), 2, "a row for each chunk");
}

#[test]
fn chunks_before_the_range_may_need_a_key() {
    let mut options = string_options();
    options.range = Range { start: Some((7, 1, 0)), end: None };
    let mut decoder = Decoder::new(options).unwrap();
    let all = entries(&[sealed_chunk(0, b"abc"), sealed_chunk(1, b"def")]).entries;
    let mut last = entries(&[]);
    let mut first = entries(&[]);
    for each in all {
        if each.entry == 0 { first.push(each) } else { last.push(each) }
    }
    decoder.push(&mut last);
    assert!(decoder.next_batch(true).unwrap().is_none());
    decoder.add_data_key(b"wrapped-a", &KEY);
    assert!(decoder.next_batch(true).unwrap().is_none());
    assert!(decoder.missing_chunks().is_some());
    assert!(decoder.look_back(&mut first, true).unwrap());
    decoder.end_look_back();
    assert_eq!(strings(&drain(&mut decoder).unwrap()[0], "value"), [Some("abcdef".to_owned())]);
}

#[test]
fn keys_of_128_bits_decrypt_and_short_nonces_are_refused() {
    let undecryptable = Aes128Gcm::new_from_slice(&KEY[..16]).unwrap();
    let payload = undecryptable.encrypt(&Nonce::from(NONCE), b"x".as_slice()).unwrap();
    let data = [entry(&sealed_metadata(&["a"]), &payload)];
    let batches = decode(&mut decoder(OnFailure::Fail, "string"), &data, |_| Ok(KEY[..16].to_vec()));
    assert_eq!(batches.unwrap()[0].num_rows(), 1);

    let mut md = sealed_metadata(&["a"]);
    put_bytes(&mut md, 15, b"short");
    let error = decode(&mut decoder(OnFailure::Fail, "string"), &[entry(&md, b"x")], no_key).unwrap_err();
    assert!(error.message.contains("5 bytes"), "{error}");
}

#[test]
fn altered_and_truncated_payloads_are_refused() {
    let whole = seal(b"payload");
    for cut in 0..whole.len() {
        let mut altered = whole.clone();
        altered[cut] ^= 1;
        for payload in [&whole[..cut], &altered[..]] {
            let data = [entry(&sealed_metadata(&["a"]), payload)];
            let error =
                decode(&mut decoder(OnFailure::Fail, "bytes"), &data, |_| Ok(KEY.to_vec())).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Encrypted);
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The Java client's classes encrypted these entries, and unwrapped their data keys.
#[test]
fn entries_that_java_encrypted_decrypt() {
    let golden = include_str!("data/java_encrypted.tsv");
    let lines: Vec<Vec<&str>> = golden.lines().map(|line| line.split('\t').collect()).collect();
    let of_kind = |kind: &str| -> Vec<Vec<u8>> {
        lines.iter().filter(|line| line[0] == kind).map(|line| unhex(line[2])).collect()
    };
    let key = unhex(lines[0][1]);
    for (kind, expected) in [("single", 1), ("batched", 3), ("chunked", 1)] {
        let data = of_kind(kind);
        let batches = decode(&mut decoder(OnFailure::Fail, "string"), &data, |_| Ok(key.clone())).unwrap();
        let values = strings(&batches[0], "value");
        assert_eq!(values.len(), expected, "{kind}");
        for (index, value) in values.iter().enumerate() {
            let long = format!("value-{index}{}", "-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".repeat(20));
            assert_eq!(value.as_deref(), Some(long.as_str()), "{kind}");
        }
    }
}

#[test]
fn a_consumed_message_without_a_bytes_value_is_a_bad_row() {
    let fields =
        vec![Field::new("value", DataType::Utf8, true), Field::new("_corrupt", DataType::Binary, true)];
    for (bad_rows, expected) in [(BadRows::Null, 2), (BadRows::Drop, 1)] {
        let mut options = options("string", fields.clone());
        options.intake.on_crypto_failure = OnFailure::Consume;
        options.bad_rows = bad_rows;
        options.corrupt_column = Some("_corrupt".to_owned());
        let mut decoder = Decoder::new(options).unwrap();
        let batch = &decode(&mut decoder, &[sealed_batch(&["a"], 2), batched_entry(1)], no_key).unwrap()[0];
        assert_eq!(batch.num_rows(), expected);
        assert_eq!(strings(batch, "value").last().unwrap().as_deref(), Some("m0"));
        assert_eq!(decoder.bad_rows().rows, 1);
        let first = decoder.bad_rows().first.clone().unwrap();
        assert!(
            first.message.ends_with("expected a decrypted message, got a message that is still encrypted"),
            "{first}"
        );
        if bad_rows == BadRows::Null {
            assert_eq!(strings(batch, "value")[0], None);
            let corrupt = batch.column_by_name("_corrupt").unwrap().as_binary::<i32>();
            assert_eq!(corrupt.value(0), seal(&batch_payload(2)));
        }
    }
}

#[test]
fn the_next_range_starts_without_keys() {
    let mut decoder = decoder(OnFailure::Discard, "string");
    let data = [sealed_batch(&["a"], 2)];
    assert_eq!(decode(&mut decoder, &data, |_| Ok(KEY.to_vec())).unwrap()[0].num_rows(), 2);
    decoder.rewind(3, Range::default()).unwrap();
    assert!(decode(&mut decoder, &data, no_key).unwrap().is_empty());
    assert_eq!(decoder.discarded(), 1);
    decoder.rewind(3, Range::default()).unwrap();
    assert_eq!(decoder.discarded(), 0);
}

#[test]
fn a_wrong_key_is_not_requested_again() {
    // As in Python, one key is unwrapped at a time, and then the entry is decoded again.
    let mut decoder = decoder(OnFailure::Fail, "string");
    decoder.push(&mut entries(&[sealed_batch(&["a", "b", "c"], 1)]));
    let mut requested_keys = Vec::new();
    let error = loop {
        match decoder.next_batch(true) {
            Err(error) => break error,
            Ok(batch) => assert!(batch.is_none()),
        }
        let key = decoder.needed_data_keys().first().cloned().expect("an error or a needed key");
        requested_keys.push(key.name.clone());
        assert!(requested_keys.len() <= 3, "expected at most 3 requests, got {requested_keys:?}");
        decoder.add_data_key(&key.wrapped, &[1; 32]);
    };
    assert_eq!(requested_keys, ["a", "b", "c"]);
    assert!(error.message.contains("does not authenticate"), "{error}");
}

#[test]
fn an_entry_with_too_many_keys_is_not_decrypted() {
    let names: Vec<String> = (0..1001).map(|i| i.to_string()).collect();
    let data = [sealed_batch(&names.iter().map(String::as_str).collect::<Vec<_>>(), 1)];
    let error = decode(&mut decoder(OnFailure::Fail, "string"), &data, no_key).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Encrypted);
    assert!(error.message.contains("1001 wrapped keys, expected at most 1000"), "{error}");
    let mut discards = decoder(OnFailure::Discard, "string");
    assert!(decode(&mut discards, &data, no_key).unwrap().is_empty());
    assert_eq!(discards.discarded(), 1);
}

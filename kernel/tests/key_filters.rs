//! Filters of messages by key, or by the hash slot of the key.

use std::collections::HashSet;

use crate::common::*;
use crate::filtering::*;
use _kernel::metadata::SingleMetadata;
use _kernel::selection::key_slot::slot_of_key;
use _kernel::selection::row_filter::RowFilter;
use _kernel::wire::{put_bytes, put_number};

#[test]
fn a_filter_compares_keys_of_messages_not_of_batches() {
    let mut md = published(1);
    put_bytes(&mut md, 6, b"a");
    put_number(&mut md, 11, 2);
    let data = [
        batch(1, &["a", "b", "", "a"]),
        keyed(1, "b", b"B"),
        entry(&published(1), b"keyless"),
        keyed(1, "c", b"C"),
        entry(&md, &batch_payload(2)),
    ];
    assert_eq!(values(keys(&["a", "c"]), &data), ["a", "a", "C"]);
    assert_eq!(values(keys(&[]), &data), [""; 0]);
}

#[test]
fn keys_in_base64_are_compared_by_their_bytes() {
    let mut md = published(1);
    put_bytes(&mut md, 6, b"AP8=");
    put_number(&mut md, 17, 1);
    let data = [entry(&md, b"binary"), keyed(1, "AP8=", b"text")];
    let binary = HashSet::from([vec![0, 255]]);
    assert_eq!(values(RowFilter { keys: Some(binary), ..RowFilter::default() }, &data), ["binary"]);
    assert_eq!(values(keys(&["AP8="]), &data), ["text"]);
}

#[test]
fn a_key_that_is_not_base64_is_compared_by_its_text() {
    let mut md = published(1);
    put_bytes(&mut md, 6, b"no base64");
    put_number(&mut md, 17, 1);
    let data = [keyed(1, "a", b"a"), entry(&md, b"x")];
    assert_eq!(values(keys(&["a"]), &data), ["a"]);
    assert_eq!(values(keys(&["no base64"]), &data), ["x"]);
}

#[test]
fn the_slot_depends_on_the_ordering_key_the_key_or_the_sequence_id() {
    let mut ordered = published(1);
    put_bytes(&mut ordered, 6, b"a");
    put_bytes(&mut ordered, 18, b"c");
    let data = [
        keyed(1, "a", b"A"),
        entry(&ordered, b"C"),
        entry(&published(1), b"keyless"),
        batch(1, &["a", "", "c", "b"]),
    ];
    let only = |key: &[u8]| {
        let slot = slot_of_key(key);
        values(RowFilter { slots: Some((slot, slot + 1)), ..RowFilter::default() }, &data)
    };
    assert_eq!(only(b"a"), ["A", "a"]);
    assert_eq!(only(b"c"), ["C", "c"]);
    assert_eq!(only(b"b"), ["b"]);
    assert_eq!(only(b"producer-41"), ["keyless"]);
    assert_eq!(only(b"producer-42"), [""]);
    let both = RowFilter { slots: Some((slot_of_key(b"a"), slot_of_key(b"a") + 1)), ..keys(&["a"]) };
    assert_eq!(values(both, &data), ["A", "a"]);
}

#[test]
fn an_entry_of_another_slot_is_not_opened_but_a_batch_is() {
    let slot = slot_of_key(b"a");
    let wanted = || RowFilter { slots: Some((slot, slot + 1)), ..RowFilter::default() };
    let mut other = published(1);
    put_bytes(&mut other, 6, b"b");
    assert_eq!(values(wanted(), &[unreadable(other.clone()), keyed(1, "a", b"A")]), ["A"]);
    // The key of a batch is the key of its first message. Other messages may have other keys.
    put_number(&mut other, 11, 2);
    let mut payload = Vec::new();
    for key in ["b", "a"] {
        let single = SingleMetadata {
            payload_size: 1,
            partition_key: Some(key.as_bytes()),
            ..SingleMetadata::default()
        };
        put_message(&mut payload, &single, key.as_bytes());
    }
    assert_eq!(values(wanted(), &[entry(&other, &payload)]), ["a"]);
}

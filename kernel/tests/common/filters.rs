//! Entries that a filter distinguishes, and decoders with a filter.
#![allow(dead_code, reason = "each test uses some of these helpers")]

use std::collections::HashSet;

use _kernel::decode::DecoderOptions;
use _kernel::metadata::SingleMetadata;
use _kernel::selection::row_filter::RowFilter;
use _kernel::wire::{put_bytes, put_number};

use crate::common::*;

pub fn published(time: u64) -> Vec<u8> {
    let mut md = Vec::new();
    put_bytes(&mut md, 1, b"producer");
    put_number(&mut md, 2, 41);
    put_number(&mut md, 3, time);
    md
}

pub fn keyed(time: u64, key: &str, payload: &[u8]) -> Vec<u8> {
    let mut md = published(time);
    put_bytes(&mut md, 6, key.as_bytes());
    entry(&md, payload)
}

/// Return a batched entry with a message for each key. The value of a message equals its key; the key ""
/// creates a message without a key.
pub fn batch(time: u64, keys: &[&str]) -> Vec<u8> {
    let mut md = published(time);
    put_number(&mut md, 11, keys.len() as u64);
    let mut payload = Vec::new();
    for key in keys {
        let single = SingleMetadata {
            payload_size: key.len() as u32,
            partition_key: (!key.is_empty()).then_some(key.as_bytes()),
            ..SingleMetadata::default()
        };
        put_message(&mut payload, &single, key.as_bytes());
    }
    entry(&md, &payload)
}

pub fn keys(wanted: &[&str]) -> RowFilter {
    let keys: HashSet<Vec<u8>> = wanted.iter().map(|key| key.as_bytes().to_vec()).collect();
    RowFilter { keys: Some(keys), ..RowFilter::default() }
}

pub fn time(from: i64, before: i64) -> RowFilter {
    RowFilter { published_from: Some(from), published_before: Some(before), ..RowFilter::default() }
}

pub fn event_before(time: i64) -> RowFilter {
    RowFilter { event_before: Some(time), ..RowFilter::default() }
}

pub fn event_from(time: i64) -> RowFilter {
    RowFilter { event_from: Some(time), ..RowFilter::default() }
}

/// Return metadata with an event time, or without one if `time` is 0.
pub fn happened(time: i64) -> Vec<u8> {
    let mut md = published(1);
    if time != 0 {
        put_number(&mut md, 12, time as u64);
    }
    md
}

/// Return a batched entry whose messages have the event times `times`. The value of a message equals its
/// event time.
pub fn happened_batch(first: i64, times: &[i64]) -> Vec<u8> {
    let mut md = happened(first);
    put_number(&mut md, 11, times.len() as u64);
    let mut payload = Vec::new();
    for time in times {
        let value = time.to_string();
        let single = SingleMetadata {
            payload_size: value.len() as u32,
            event_time: *time as u64,
            ..SingleMetadata::default()
        };
        put_message(&mut payload, &single, value.as_bytes());
    }
    entry(&md, &payload)
}

pub fn filtered(filter: RowFilter) -> DecoderOptions {
    DecoderOptions { filter, ..string_options() }
}

pub fn values(filter: RowFilter, data: &[Vec<u8>]) -> Vec<String> {
    let batches = decode_all(filtered(filter), data).unwrap();
    batches.iter().flat_map(|batch| strings(batch, "value")).flatten().collect()
}

/// Return an entry whose metadata names a compression codec that does not exist.
pub fn unreadable(mut md: Vec<u8>) -> Vec<u8> {
    put_number(&mut md, 8, 99);
    put_number(&mut md, 9, 5);
    entry(&md, b"x")
}

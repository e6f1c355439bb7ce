//! A topic of chunks, batches and encrypted entries in any order. A script of four bytes for each entry
//! writes the topic.
//!
//! Two reads of parts of the topic return the rows of one read. A read with a filter returns a subset of the
//! rows of a read without a filter.

#[path = "../../tests/common/handmade.rs"]
mod handmade;

use _kernel::decode::{Decoder, DecoderOptions, IntakeOptions};
use _kernel::encryption::OnFailure;
use _kernel::entry::EntryBatch;
use _kernel::error::Result;
use _kernel::payload_schema::PayloadSchema;
use _kernel::selection::row_filter::RowFilter;
use _kernel::selection::{Position, Range};
use _kernel::wire::{put_bytes, put_number};
use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Nonce};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_schema::DataType;

use handmade::{decoder_of, entries_from, message_id, nullable, stored, utc_micros};

const KEY: [u8; 16] = [7; 16];
const NONCE: [u8; 12] = [9; 12];
const MOST_ENTRIES: usize = 64;

/// The entry, batch index, publish time in milliseconds, and value.
type Row = (i64, i32, i64, Vec<u8>);

/// Returns the entries of `script`, with entry `i` at position `i` of ledger 7.
pub fn topic(script: &[u8]) -> Vec<Vec<u8>> {
    script.as_chunks::<4>().0.iter().take(MOST_ENTRIES).map(|step| entry(*step)).collect()
}

/// Returns a batch, or a chunk of one of four messages if the first byte has a bit of a chunk.
fn entry([what, number, key, fill]: [u8; 4]) -> Vec<u8> {
    let mut metadata = Vec::new();
    put_bytes(&mut metadata, 1, &[b'p', what >> 7]);
    put_number(&mut metadata, 2, 41);
    put_number(&mut metadata, 3, u64::from(fill >> 5));
    let mut payload = vec![fill; usize::from(fill % 5)];
    if what & 3 == 0 {
        let count = 1 + usize::from(number % 3);
        put_number(&mut metadata, 11, count as u64);
        payload = [0, 0, 0, 2, 0x18, 1, fill].repeat(count);
    } else {
        let uuid = what >> 2 & 3;
        // Some chunks contradict the other chunks of their message.
        let chunks = if what & 0x40 == 0 { 2 + u64::from(uuid) % 2 } else { u64::from(number >> 4) };
        put_bytes(&mut metadata, 26, &[b'a' + uuid]);
        put_number(&mut metadata, 27, chunks);
        put_number(&mut metadata, 28, if what & 0x20 == 0 { 64 } else { u64::from(number) });
        put_number(&mut metadata, 29, u64::from(number & 3));
    }
    // The entry has a known key, an unknown key, or both keys in any order. Its payload may be encrypted with
    // another key.
    for name in [key & 3, key >> 2 & 3] {
        if name != 0 {
            let mut wrapped = Vec::new();
            put_bytes(&mut wrapped, 1, &[b'k', name]);
            put_bytes(&mut wrapped, 2, &[name]);
            put_bytes(&mut metadata, 13, &wrapped);
            put_bytes(&mut metadata, 15, &NONCE);
        }
    }
    if key & 15 != 0 {
        let data_key = if key & 0x80 == 0 { KEY } else { [1; 16] };
        let sealer = Aes128Gcm::new_from_slice(&data_key).expect("a key of 16 bytes");
        payload = sealer.encrypt(&Nonce::from(NONCE), payload.as_slice()).expect("a short payload");
    }
    stored(&metadata, &payload)
}

/// The options of a read.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The field of [`IntakeOptions`] with this name.
    pub max_open_chunked: usize,
    /// The field of [`IntakeOptions`] with this name.
    pub on_crypto_failure: OnFailure,
    /// The number of rows in a batch.
    pub batch_rows: usize,
    /// The first publish time to read, and the first publish time after the range.
    pub published: Option<(i64, i64)>,
}

impl Reading {
    fn decoder(self, range: Range) -> Decoder {
        let columns = nullable([
            ("value", DataType::Binary),
            ("__messageId", message_id()),
            ("__publishTime", utc_micros()),
        ]);
        Decoder::new(DecoderOptions {
            partition: -1,
            batch_rows: self.batch_rows,
            range,
            filter: RowFilter {
                published_from: self.published.map(|(from, _)| from),
                published_before: self.published.map(|(_, before)| before),
                ..RowFilter::default()
            },
            intake: IntakeOptions {
                max_open_chunked: self.max_open_chunked,
                on_crypto_failure: self.on_crypto_failure,
                ..IntakeOptions::default()
            },
            ..decoder_of(PayloadSchema::of_type("bytes"), columns)
        })
        .expect("a decoder")
    }

    /// Returns the rows of `topic` in the range, as a reader on an executor receives them.
    pub fn rows(self, topic: &[Vec<u8>], start: Position, end: Position) -> Result<Vec<Row>> {
        let mut decoder = self.decoder(Range { start: Some(start), end: Some(end) });
        decoder.push(&mut entries_after(topic, start.1 as usize));
        let mut rows = Vec::new();
        // Every entry requests each of its keys and its chunks at most once.
        for _ in 0..=4 * topic.len() {
            while let Some(batch) = decoder.next_batch(true)? {
                let id = batch.column(1).as_struct();
                let entries = id.column(1).as_primitive::<Int64Type>();
                let indices = id.column(2).as_primitive::<Int32Type>();
                let values = batch.column(0).as_binary::<i32>();
                let times = batch.column(2).as_primitive::<TimestampMicrosecondType>();
                rows.extend((0..batch.num_rows()).map(|row| {
                    let value = values.value(row).to_vec();
                    (entries.value(row), indices.value(row), times.value(row) / 1000, value)
                }));
            }
            if !supply(&mut decoder, topic)? {
                return Ok(rows);
            }
        }
        panic!("the decoder waits without end");
    }
}

/// Supplies the information that the decoder needs. Returns false if the decoder does not wait.
fn supply(decoder: &mut Decoder, topic: &[Vec<u8>]) -> Result<bool> {
    if let Some(key) = decoder.needed_data_keys().first().cloned() {
        match key.wrapped.as_slice() {
            [1] => decoder.add_data_key(&key.wrapped, &KEY),
            [2] => decoder.add_data_key(&key.wrapped, &[3; 16]),
            _ => decoder.refuse_data_key(&key.wrapped, "the key is unknown"),
        }
        return Ok(true);
    }
    let Some(missing) = decoder.missing_chunks().cloned() else { return Ok(false) };
    let mut from = missing.at.entry as usize;
    while from > 0 {
        from = from.saturating_sub(3);
        if decoder.look_back(&mut entries_after(topic, from), true)? {
            break;
        }
    }
    decoder.end_look_back();
    Ok(true)
}

/// Returns the entries from `start` on.
fn entries_after(topic: &[Vec<u8>], start: usize) -> EntryBatch {
    entries_from(start, topic.get(start..).unwrap_or_default())
}

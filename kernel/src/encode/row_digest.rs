//! A digest of rows whatever their order: what tells whether an epoch that runs again has the rows it had.
//!
//! The hash of a row is XXH3 (64 bits, <https://xxhash.com>) over its parts, each with the hash of what precedes as its
//! seed; the first one's is made of the topic's name and of which parts there are. The digest is the sum of these
//! modulo 2^64. So rows may come in any order, from any number of tasks, and the sums of tasks add up. How rows are
//! batched, compressed, encrypted, numbered or routed is not in it. Journals hold digests: another way to make them is
//! another field there.

use arrow_array::RecordBatch;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Encoder;
use super::input::Input;
use crate::error::Result;
use crate::metadata::SingleMetadata;

/// Odd, so that no two shapes of messages begin with one seed: 2^64 divided by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The rows of one topic that were added.
#[derive(Debug, Clone, Copy)]
pub struct RowDigest {
    topic: u64,
    /// How many.
    pub rows: u64,
    /// The sum of their hashes.
    pub sum: u64,
}

impl RowDigest {
    /// No rows of `topic`, whose full name has no partition.
    pub fn new(topic: &str) -> Self {
        Self { topic: xxh3_64(topic.as_bytes()), rows: 0, sum: 0 }
    }

    /// Add a message: key, ordering key, event time, properties in order, and value.
    #[inline]
    pub fn add(&mut self, message: &SingleMetadata<'_>, value: &[u8]) {
        let shape = u64::from(message.null_value)
            | u64::from(message.partition_key.is_some()) << 1
            | u64::from(message.partition_key_base64) << 2
            | u64::from(message.null_partition_key) << 3
            | u64::from(message.ordering_key.is_some()) << 4
            | u64::from(message.event_time != 0) << 5
            | (message.properties.len() as u64) << 6;
        let mut hash = self.topic.wrapping_add(shape.wrapping_mul(SPREAD));
        let mut part = |bytes: &[u8]| hash = xxh3_64_with_seed(bytes, hash);
        if message.event_time != 0 {
            part(&message.event_time.to_le_bytes());
        }
        for key in [message.partition_key, message.ordering_key].into_iter().flatten() {
            part(key);
        }
        for (name, text) in &message.properties {
            part(name);
            part(text);
        }
        part(value);
        self.rows += 1;
        self.sum = self.sum.wrapping_add(hash);
    }
}

impl Encoder {
    /// From now on add what `encode` gives out, and what `digest` is given, to a digest.
    pub fn start_digest(&mut self, topic: &str) {
        self.digest = Some(RowDigest::new(topic));
    }

    /// The rows until now; None without `start_digest`.
    pub fn row_digest(&self) -> Option<RowDigest> {
        self.digest
    }

    /// Add all rows to the digest as `encode` would, but encode nothing. After an error nothing has happened.
    pub fn digest(&mut self, batch: &RecordBatch) -> Result<()> {
        let Some(mut digest) = self.digest else { return Ok(()) };
        let input = Input::new(batch, &self.kind)?;
        let mut value = Vec::new();
        for row in 0..batch.num_rows() {
            value.clear();
            let mut single = SingleMetadata::default();
            let key = input.message(row, &mut single, &mut value)?;
            if let Some((text, base64)) = &key {
                single.partition_key = Some(text.as_bytes());
                single.partition_key_base64 = *base64;
            }
            digest.add(&single, &value);
        }
        self.digest = Some(digest);
        Ok(())
    }
}

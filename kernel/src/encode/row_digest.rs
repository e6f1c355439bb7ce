//! A digest of rows in any order. The digest shows whether an epoch that runs again has the same rows as in
//! the earlier run.
//!
//! The hash of a row is XXH3 (64 bits, <https://xxhash.com>) over its parts. Each part's seed is the hash of
//! the parts before it. The first seed depends on the topic's name and on which parts exist. The digest is
//! the sum of the hashes modulo 2^64. So rows may arrive in any order from any number of tasks, and the sums
//! of tasks can be added.
//!
//! The digest does not depend on how rows are batched, compressed, encrypted, numbered or routed. Journals
//! contain digests, so another algorithm needs another field there.

use arrow_array::RecordBatch;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::Encoder;
use super::input::Input;
use crate::error::Result;
use crate::metadata::SingleMetadata;

/// 2^64 divided by the golden ratio. The number is odd, so no two shapes of messages have the same seed.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The digest of the rows of one topic.
#[derive(Debug, Clone, Copy)]
pub struct RowDigest {
    topic: u64,
    /// The number of rows.
    pub rows: u64,
    /// The sum of the rows' hashes.
    pub sum: u64,
}

impl RowDigest {
    /// Creates the digest of no rows. `topic` is the full name without partition.
    pub fn new(topic: &str) -> Self {
        Self { topic: xxh3_64(topic.as_bytes()), rows: 0, sum: 0 }
    }

    /// Adds a message: key, ordering key, event time, properties in order, and value.
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
    /// Starts a digest of all rows that `encode` and `digest` process.
    pub fn start_digest(&mut self, topic: &str) {
        self.digest = Some(RowDigest::new(topic));
    }

    /// Returns the digest of the rows until now; `None` without `start_digest`.
    pub fn row_digest(&self) -> Option<RowDigest> {
        self.digest
    }

    /// Adds all rows to the digest like `encode`, but encodes nothing. After an error the digest is
    /// unchanged.
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

//! Arrow record batches to batched entries inside SEND frames, routed to partitions.

mod avro;
mod binding;
pub mod entries;
mod input;
pub mod json;
mod key_value;
mod options;
mod primitive;
mod protobuf;
pub mod route;
mod row_digest;
mod rows_by_key;
mod value_kind;

use arrow_array::RecordBatch;

use crate::compression::Codec;
use crate::error::{KernelError, Result};
use crate::metadata::{Property, SingleMetadata};
use entries::batch::PartitionWriter;
use entries::packing::{EntryCipher, Packing};
use entries::unbatched::UnbatchedFields;
pub use entries::{Limits, Producer, SendFrames, resend};
use input::Input;
pub use options::{Batching, EncoderOptions, Producing};
pub use row_digest::RowDigest;
use value_kind::ValueKind;

/// An encoder of batches with one schema, for one topic.
#[derive(Debug)]
pub struct Encoder {
    kind: ValueKind,
    limits: Limits,
    producing: Producing,
    cipher: Option<EntryCipher>,
    producers: Vec<Option<Producer>>,
    /// The partition to which the next message without a key is sent.
    turn: Option<usize>,
    digest: Option<RowDigest>,
}

impl Encoder {
    /// Creates an encoder. Fails with an error of the kind `schema` if the options contradict each other.
    pub fn new(options: &EncoderOptions) -> Result<Self> {
        if options.partitions == 0 {
            return Err(KernelError::schema("partitions: expected at least 1, got 0"));
        }
        Ok(Self {
            kind: ValueKind::new(&options.value, &options.input_schema)?,
            limits: Limits {
                codec: Codec::from_name(&options.compression)?,
                max_messages: options.batching_max_messages.clamp(1, i32::MAX as usize),
                max_bytes: options.batching_max_bytes.max(1),
                max_message_bytes: options.max_message_bytes,
                chunk_bytes: None,
                by_key: false,
                encryption_bytes: 0,
            },
            producing: Producing::default(),
            cipher: None,
            producers: vec![None; options.partitions],
            turn: None,
            digest: None,
        })
    }

    /// Sets how messages are combined into entries. Without this call, the defaults apply.
    pub fn set_producing(&mut self, producing: Producing) {
        self.limits.by_key = producing.batching == Batching::ByKey;
        self.limits.chunk_bytes = producing.chunk_bytes;
        self.producing = producing;
    }

    /// Encrypts every entry with a data key of 32 bytes, which no other encoder may use. `wrapped` contains
    /// the name of each key pair and the data key wrapped with it.
    pub fn set_data_key(&mut self, key: &[u8], wrapped: &[(String, Vec<u8>)]) -> Result<()> {
        let cipher = EntryCipher::new(key, wrapped)?;
        self.limits.encryption_bytes = cipher.overhead();
        self.cipher = Some(cipher);
        Ok(())
    }

    /// Sets the producer of a partition.
    pub fn set_producer(&mut self, partition: usize, producer: Producer) -> Result<()> {
        let partitions = self.producers.len();
        let slot = self.producers.get_mut(partition).ok_or_else(|| {
            KernelError::schema(format!("partition: expected 0 to {}, got {partition}", partitions - 1))
        })?;
        *slot = Some(producer);
        Ok(())
    }

    /// Encodes all rows. After an error the encoder is unchanged, including its sequence ids.
    pub fn encode(&mut self, batch: &RecordBatch, publish_time: u64) -> Result<Vec<SendFrames>> {
        let input = Input::new(batch, &self.kind)?;
        let producers = self.producers.iter().enumerate().map(|(partition, producer)| {
            producer
                .as_ref()
                .ok_or_else(|| KernelError::schema(format!("no producer is set for partition {partition}")))
        });
        let producers = producers.collect::<Result<Vec<_>>>()?;
        let writers = producers.iter().map(|p| PartitionWriter::new(p, self.limits, publish_time)).collect();
        let turn = self.turn.unwrap_or_else(|| {
            let name = producers.first().map_or("", |p| p.producer_name.as_str());
            route::first_partition(name, producers.len())
        });
        let turn = Turn { partition: turn, partitions: producers.len(), used: false };
        let packing = Packing::new(self.limits.codec, self.cipher.as_mut());
        let (payload, properties) = (Vec::new(), Vec::new());
        let producing = self.producing;
        let digest = self.digest;
        let mut run =
            EncodeCall { input: &input, writers, turn, packing, producing, payload, properties, digest };
        run.all(batch.num_rows())?;
        if run.turn.used {
            run.turn.advance();
        }
        let (turn, digest) = (run.turn.partition, run.digest);
        let mut out = Vec::new();
        for (partition, writer) in run.writers.into_iter().enumerate() {
            out.extend(writer.finish(partition, &mut run.packing)?);
        }
        for frames in &out {
            if let Some(Some(producer)) = self.producers.get_mut(frames.partition) {
                producer.next_sequence_id = frames.last_sequence_id.wrapping_add(1);
            }
        }
        (self.turn, self.digest) = (Some(turn), digest);
        Ok(out)
    }
}

/// The partition for messages without a key, which changes from entry to entry.
struct Turn {
    partition: usize,
    partitions: usize,
    used: bool,
}

impl Turn {
    fn advance(&mut self) {
        self.partition = (self.partition + 1).checked_rem(self.partitions).unwrap_or(0);
        self.used = false;
    }
}

/// The state of one call of `encode`.
struct EncodeCall<'a> {
    input: &'a Input,
    writers: Vec<PartitionWriter<'a>>,
    turn: Turn,
    packing: Packing<'a>,
    producing: Producing,
    /// Memory that each row reuses: the bytes of the value, and an empty list of properties.
    payload: Vec<u8>,
    properties: Vec<Property<'a>>,
    digest: Option<RowDigest>,
}

impl EncodeCall<'_> {
    fn all(&mut self, rows: usize) -> Result<()> {
        if self.producing.batching != Batching::ByKey {
            return (0..rows).try_for_each(|row| self.row(row));
        }
        for group in rows_by_key::rows_by_key(self.input, rows)? {
            group.into_iter().try_for_each(|row| self.row(row))?;
            self.writers.iter_mut().try_for_each(|writer| writer.close(&mut self.packing))?;
        }
        Ok(())
    }

    fn row(&mut self, row: usize) -> Result<()> {
        self.payload.clear();
        let properties = std::mem::take(&mut self.properties);
        let mut single = SingleMetadata { properties, ..SingleMetadata::default() };
        let key = self.input.message(row, &mut single, &mut self.payload)?;
        if let Some((text, base64)) = &key {
            single.partition_key = Some(text.as_bytes());
            single.partition_key_base64 = *base64;
        }
        if let Some(digest) = &mut self.digest {
            digest.add(&single, &self.payload);
        }
        let properties: usize = single.properties.iter().map(|(k, v)| k.len() + v.len() + 16).sum();
        let keys = single.partition_key.map_or(0, <[u8]>::len) + single.ordering_key.map_or(0, <[u8]>::len);
        let weight = self.payload.len() + properties + keys + 48;

        let chosen = match (self.input.partition(row, self.writers.len())?, &key) {
            (None, Some((text, _))) => Some(self.producing.hashing.partition_of(text, self.writers.len())),
            (chosen, _) => chosen,
        };
        let partition = chosen.map_or_else(|| self.partition_in_turn(weight), Ok)?;
        let own_fields = UnbatchedFields {
            deliver_at: self.input.deliver_at(row)?,
            replicate_to: self.input.replicate_to(row)?,
            sequence_id: self.input.sequence_id(row)?,
        };
        let clusters: usize = own_fields.replicate_to.iter().map(|cluster| cluster.len() + 4).sum();
        let weight = weight + clusters;
        let Some(writer) = self.writers.get_mut(partition) else { return Ok(()) };
        writer.check_metadata(properties + keys + clusters, row)?;
        let has_own_entry = !own_fields.is_default() || self.producing.batching == Batching::None;
        let full = if has_own_entry || writer.must_chunk(weight) {
            writer.append_unbatched(&single, &own_fields, &self.payload, row, &mut self.packing)?;
            true
        } else {
            if writer.must_close_before(weight) {
                writer.close(&mut self.packing)?;
            }
            writer.append(&mut single, &self.payload, row)?
        };
        if full {
            writer.close(&mut self.packing)?;
        }
        self.properties = emptied(single.properties);
        if full && chosen.is_none() {
            self.turn.advance();
        }
        Ok(())
    }

    /// Returns the partition whose turn it is, for a message without a key.
    fn partition_in_turn(&mut self, weight: usize) -> Result<usize> {
        let open = self.writers.get_mut(self.turn.partition);
        if let Some(full) = open.filter(|writer| writer.must_close_before(weight)) {
            full.close(&mut self.packing)?;
            self.turn.advance();
        }
        self.turn.used = true;
        Ok(self.turn.partition)
    }
}

/// Returns an empty list for another lifetime with the same memory, which collecting in place keeps.
fn emptied<'a>(mut properties: Vec<Property<'_>>) -> Vec<Property<'a>> {
    properties.clear();
    properties.into_iter().map(|_| (&[][..], &[][..])).collect()
}

//! The messages `MessageMetadata`, `SingleMessageMetadata` and `BrokerEntryMetadata` of Pulsar, read and
//! written by hand.
//!
//! Field numbers: apache/pulsar, pulsar-common/src/main/proto/PulsarApi.proto.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::error::{KernelError, Result};
use crate::wire::{WireFields, bytes_field_size, put_bytes, put_number, put_varint};

/// Decodes base64 like `java.util.Base64`, which accepts text without padding, and any value of the unused
/// last bits.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The key and value of a property, as the producer wrote them.
pub type Property<'a> = (&'a [u8], &'a [u8]);

/// A message key, as the metadata stores it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Key<'a> {
    /// The text of the key, or the base64 text of a binary key.
    pub text: &'a [u8],
    /// True if `text` is base64.
    pub base64: bool,
}

impl<'a> Key<'a> {
    /// Returns the bytes of the key that the producer set; `None` if the text is marked as base64 but is not
    /// valid base64.
    pub fn decoded(&self) -> Option<Cow<'a, [u8]>> {
        match self.base64 {
            true => LENIENT.decode(self.text).ok().map(Cow::Owned),
            false => Some(Cow::Borrowed(self.text)),
        }
    }

    /// Returns the bytes of the key, or the stored text if the text is marked as base64 but is not valid
    /// base64.
    pub fn bytes(&self) -> Cow<'a, [u8]> {
        self.decoded().unwrap_or(Cow::Borrowed(self.text))
    }
}

/// The fields that brokers with `brokerEntryMetadataInterceptors` add before an entry.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct BrokerMetadata {
    /// Field 1: Unix milliseconds by the broker's clock.
    pub timestamp: Option<u64>,
    /// Field 2: index in the topic of the entry's last message.
    pub index: Option<u64>,
}

impl BrokerMetadata {
    /// Parses the bytes of exactly one `BrokerEntryMetadata`.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut metadata = Self::default();
        let mut fields = WireFields::new(bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => metadata.timestamp = Some(value.number("broker_timestamp")?),
                2 => metadata.index = Some(value.number("index")?),
                _ => {}
            }
        }
        Ok(metadata)
    }

    /// Returns the metadata of message `nth`, counted from 0, in an entry of `count` messages.
    pub fn of_message(self, nth: i32, count: i32) -> Self {
        let before_last = u64::try_from(i64::from(count) - 1 - i64::from(nth)).unwrap_or(0);
        Self { index: self.index.and_then(|last| last.checked_sub(before_last)), ..self }
    }
}

/// The fields of an entry's `MessageMetadata` that a reader needs.
#[derive(Debug, Default, Clone)]
pub struct MessageMetadata<'a> {
    /// Field 1: name of the producer.
    pub producer_name: &'a [u8],
    /// Field 2: sequence id of the entry's first message.
    pub sequence_id: u64,
    /// Field 3: Unix milliseconds by the producer's clock.
    pub publish_time: u64,
    /// Field 4: properties of an unbatched message.
    pub properties: Vec<Property<'a>>,
    /// Field 5: the cluster in which a replicated entry was produced.
    pub replicated_from: Option<&'a [u8]>,
    /// Field 6: key of an unbatched message.
    pub partition_key: Option<&'a [u8]>,
    /// Field 8: number of the codec.
    pub compression: u64,
    /// Field 9: length of the decompressed payload, in bytes.
    pub uncompressed_size: u32,
    /// Field 11: number of messages. The entry is a batch if this field is set, to any value.
    pub num_messages_in_batch: Option<i32>,
    /// Field 12: event time in Unix milliseconds; 0 means that the message has no event time.
    pub event_time: u64,
    /// Field 13: an `EncryptionKeys` message for each key name; empty if the payload is not encrypted.
    pub encryption_keys: Vec<&'a [u8]>,
    /// Field 14: name of the encryption algorithm.
    pub encryption_algo: &'a [u8],
    /// Field 15: the nonce of this entry.
    pub encryption_param: &'a [u8],
    /// Field 16: version of the schema in the registry.
    pub schema_version: Option<&'a [u8]>,
    /// Field 17: true if the key is base64 text.
    pub partition_key_base64: bool,
    /// Field 18: ordering key of an unbatched message.
    pub ordering_key: Option<&'a [u8]>,
    /// Field 20: type of the marker; `None` for an entry with messages.
    pub marker_type: Option<u64>,
    /// Field 22: least significant bits of the id of the message's transaction.
    pub txn_least: Option<u64>,
    /// Field 23: most significant bits of the id of the message's transaction.
    pub txn_most: Option<u64>,
    /// Field 25: whether the value of an unbatched message is null.
    pub null_value: bool,
    /// Field 26: name of a chunked message, the same in all its chunks.
    pub uuid: &'a [u8],
    /// Field 27: number of chunks. The entry is a chunk if this number is above 1.
    pub num_chunks: u64,
    /// Field 28: total number of bytes of all chunks, before encryption.
    pub total_chunk_size: u64,
    /// Field 29: index of the chunk, from 0.
    pub chunk_id: u64,
}

impl<'a> MessageMetadata<'a> {
    /// Parses the bytes of exactly one `MessageMetadata`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut metadata = Self::default();
        let mut fields = WireFields::new(bytes);
        let mut required = 0u8;
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => metadata.producer_name = value.bytes("producer_name")?,
                2 => metadata.sequence_id = value.number("sequence_id")?,
                3 => metadata.publish_time = value.number("publish_time")?,
                4 => metadata.properties.push(parse_property(value.bytes("properties")?)?),
                5 => metadata.replicated_from = Some(value.bytes("replicated_from")?),
                6 => metadata.partition_key = Some(value.bytes("partition_key")?),
                8 => metadata.compression = value.number("compression")?,
                9 => metadata.uncompressed_size = size(value.number("uncompressed_size")?)?,
                11 => metadata.num_messages_in_batch = Some(value.number("num_messages_in_batch")? as i32),
                12 => metadata.event_time = value.number("event_time")?,
                13 => metadata.encryption_keys.push(value.bytes("encryption_keys")?),
                14 => metadata.encryption_algo = value.bytes("encryption_algo")?,
                15 => metadata.encryption_param = value.bytes("encryption_param")?,
                16 => metadata.schema_version = Some(value.bytes("schema_version")?),
                17 => metadata.partition_key_base64 = value.number("partition_key_b64_encoded")? != 0,
                18 => metadata.ordering_key = Some(value.bytes("ordering_key")?),
                20 => metadata.marker_type = Some(value.number("marker_type")?),
                22 => metadata.txn_least = Some(value.number("txnid_least_bits")?),
                23 => metadata.txn_most = Some(value.number("txnid_most_bits")?),
                25 => metadata.null_value = value.number("null_value")? != 0,
                26 => metadata.uuid = value.bytes("uuid")?,
                27 => metadata.num_chunks = value.number("num_chunks_from_msg")?,
                28 => metadata.total_chunk_size = value.number("total_chunk_msg_size")?,
                29 => metadata.chunk_id = value.number("chunk_id")?,
                _ => {}
            }
            if (1..=3).contains(&number) {
                required |= 1 << number;
            }
        }
        if required != 0b1110 {
            return Err(KernelError::corrupt(
                "expected message metadata with producer_name, sequence_id and publish_time, got metadata without one of these fields",
            ));
        }
        Ok(metadata)
    }

    /// Returns the partition key of an unbatched message.
    pub fn key(&self) -> Option<Key<'a>> {
        self.partition_key.map(|text| Key { text, base64: self.partition_key_base64 })
    }

    /// Returns the most and least significant bits of the transaction of the message or marker.
    pub fn transaction(&self) -> Option<(u64, u64)> {
        Some((self.txn_most?, self.txn_least?))
    }

    /// Appends the metadata as Protobuf, without fields that have their default.
    pub fn write(&self, out: &mut Vec<u8>, highest_sequence_id: u64) {
        put_bytes(out, 1, self.producer_name);
        put_number(out, 2, self.sequence_id);
        put_number(out, 3, self.publish_time);
        if self.compression != 0 {
            put_number(out, 8, self.compression);
        }
        put_number(out, 9, u64::from(self.uncompressed_size));
        if let Some(count) = self.num_messages_in_batch {
            put_number(out, 11, count as u64);
        }
        if let Some(version) = self.schema_version {
            put_bytes(out, 16, version);
        }
        if let Some((most, least)) = self.transaction() {
            put_number(out, 22, least);
            put_number(out, 23, most);
        }
        put_number(out, 24, highest_sequence_id);
    }
}

/// The metadata of one message in a batched entry.
#[derive(Debug, Default, Clone)]
pub struct SingleMetadata<'a> {
    /// Field 1: properties of the message.
    pub properties: Vec<Property<'a>>,
    /// Field 2: key of the message.
    pub partition_key: Option<&'a [u8]>,
    /// Field 3: length of the message's payload, in bytes.
    pub payload_size: u32,
    /// Field 4: whether compaction removed the message.
    pub compacted_out: bool,
    /// Field 5: event time in Unix milliseconds; 0 means that the message has no event time.
    pub event_time: u64,
    /// Field 6: true if the key is base64 text.
    pub partition_key_base64: bool,
    /// Field 7: ordering key of the message.
    pub ordering_key: Option<&'a [u8]>,
    /// Field 8: sequence id of the message.
    pub sequence_id: Option<u64>,
    /// Field 9: whether the value is null.
    pub null_value: bool,
    /// Field 10: whether the key of a separated key-value message is null.
    pub null_partition_key: bool,
}

impl<'a> SingleMetadata<'a> {
    /// Parses the bytes of exactly one `SingleMessageMetadata`, and reuses the memory of the property list.
    pub fn parse_into(&mut self, bytes: &'a [u8]) -> Result<()> {
        let mut properties = std::mem::take(&mut self.properties);
        properties.clear();
        *self = Self { properties, ..Self::default() };
        let mut fields = WireFields::new(bytes);
        let mut sized = false;
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => self.properties.push(parse_property(value.bytes("properties")?)?),
                2 => self.partition_key = Some(value.bytes("partition_key")?),
                3 => {
                    self.payload_size = size(value.number("payload_size")?)?;
                    sized = true;
                }
                4 => self.compacted_out = value.number("compacted_out")? != 0,
                5 => self.event_time = value.number("event_time")?,
                6 => self.partition_key_base64 = value.number("partition_key_b64_encoded")? != 0,
                7 => self.ordering_key = Some(value.bytes("ordering_key")?),
                8 => self.sequence_id = Some(value.number("sequence_id")?),
                9 => self.null_value = value.number("null_value")? != 0,
                10 => self.null_partition_key = value.number("null_partition_key")? != 0,
                _ => {}
            }
        }
        if !sized {
            return Err(KernelError::corrupt(
                "expected payload_size in the metadata of a batched message, got none",
            ));
        }
        Ok(())
    }

    /// Returns the key of the message.
    pub fn key(&self) -> Option<Key<'a>> {
        self.partition_key.map(|text| Key { text, base64: self.partition_key_base64 })
    }

    /// Appends the metadata as Protobuf.
    pub fn write(&self, out: &mut Vec<u8>) {
        for (key, value) in &self.properties {
            put_varint(out, 1 << 3 | 2);
            put_varint(out, (bytes_field_size(key) + bytes_field_size(value)) as u64);
            put_bytes(out, 1, key);
            put_bytes(out, 2, value);
        }
        if let Some(key) = self.partition_key {
            put_bytes(out, 2, key);
        }
        put_number(out, 3, u64::from(self.payload_size));
        if self.event_time != 0 {
            put_number(out, 5, self.event_time);
        }
        if self.partition_key_base64 {
            put_number(out, 6, 1);
        }
        if let Some(key) = self.ordering_key {
            put_bytes(out, 7, key);
        }
        if let Some(sequence_id) = self.sequence_id {
            put_number(out, 8, sequence_id);
        }
        if self.null_value {
            put_number(out, 9, 1);
        }
        if self.null_partition_key {
            put_number(out, 10, 1);
        }
    }
}

fn parse_property(bytes: &[u8]) -> Result<Property<'_>> {
    let (mut key, mut value) = (&[][..], &[][..]);
    let mut fields = WireFields::new(bytes);
    while let Some((number, field)) = fields.next_field()? {
        match number {
            1 => key = field.bytes("property key")?,
            2 => value = field.bytes("property value")?,
            _ => {}
        }
    }
    Ok((key, value))
}

fn size(value: u64) -> Result<u32> {
    u32::try_from(value)
        .map_err(|_| KernelError::corrupt(format!("expected a size of at most 32 bits, got {value} bytes")))
}

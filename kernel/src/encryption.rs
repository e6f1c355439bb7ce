//! End-to-end encryption of payloads, in the format of Pulsar's Java and C++ clients.
//!
//! The producer compresses the payload, cuts it into chunks, and encrypts the payload of each entry with
//! AES-GCM. The nonce has 12 bytes and is in `encryption_param`; the tag has 16 bytes and follows the
//! ciphertext. There is no associated data.
//!
//! The metadata contains the data key, wrapped once for each key name in `encryption_keys`. The caller has
//! the private keys and unwraps the data key; the kernel only receives data keys. Source: MessageCryptoBc of
//! apache/pulsar, 4.0.8.

use std::collections::HashMap;

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Aes256Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::error::{ErrorKind, KernelError, Result};
use crate::metadata::MessageMetadata;
use crate::wire::WireFields;

const NONCE_BYTES: usize = 12;
/// Maximum number of data keys in memory. Producers make a new data key every few hours. When the limit is
/// reached, all keys are dropped, and each key is requested again when an entry needs the key.
const MAX_KEYS: usize = 4096;
/// Largest number of wrapped keys of one entry. If it were close to `MAX_KEYS`, the keys of an entry would
/// replace each other, and the entry would wait without end.
const MAX_KEYS_OF_ENTRY: usize = 1000;
/// Largest number of key names in an error.
const MAX_NAMED: usize = 10;
/// Name of the property that describes the encryption of a row's payload.
pub const CONTEXT_PROPERTY: &[u8] = b"__encryption";

/// The handling of an entry that cannot be decrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Raise an error.
    #[default]
    Fail,
    /// Produce no row, and count the entry.
    Discard,
    /// Produce one row for the entry, with the encrypted payload.
    Consume,
}

impl OnFailure {
    /// Parses `FAIL`, `DISCARD` or `CONSUME`.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "FAIL" => Ok(Self::Fail),
            "DISCARD" => Ok(Self::Discard),
            "CONSUME" => Ok(Self::Consume),
            _ => Err(KernelError::schema(format!(
                "crypto_failure_action: expected FAIL, DISCARD or CONSUME, got {name:?}"
            ))),
        }
    }
}

/// A wrapped data key in an entry's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// Name of the key pair that wraps the data key.
    pub name: String,
    /// The wrapped bytes.
    pub wrapped: Vec<u8>,
    /// Name and value pairs that the producer's key reader attached to the key pair.
    pub metadata: Vec<(String, String)>,
}

impl WrappedKey {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let mut key = Self { name: String::new(), wrapped: Vec::new(), metadata: Vec::new() };
        let mut fields = WireFields::new(bytes);
        while let Some((number, value)) = fields.next_field()? {
            match number {
                1 => key.name = lossy(value.bytes("encryption key name")?),
                2 => key.wrapped = value.bytes("encryption key")?.to_vec(),
                3 => key.metadata.push(parse_pair(value.bytes("encryption key metadata")?)?),
                _ => {}
            }
        }
        Ok(key)
    }
}

fn parse_pair(bytes: &[u8]) -> Result<(String, String)> {
    let mut pair = (String::new(), String::new());
    let mut fields = WireFields::new(bytes);
    while let Some((number, value)) = fields.next_field()? {
        match number {
            1 => pair.0 = lossy(value.bytes("metadata key")?),
            2 => pair.1 = lossy(value.bytes("metadata value")?),
            _ => {}
        }
    }
    Ok(pair)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the wrapped data keys of an entry.
pub fn wrapped_keys(metadata: &MessageMetadata<'_>) -> Result<Vec<WrappedKey>> {
    metadata.encryption_keys.iter().map(|bytes| WrappedKey::parse(bytes)).collect()
}

/// An unwrapped data key, ready for use. Dropping it wipes its memory.
enum DataKey {
    Aes128(Box<Aes128Gcm>),
    Aes256(Box<Aes256Gcm>),
}

impl DataKey {
    fn new(bytes: &[u8]) -> Option<Self> {
        match bytes.len() {
            16 => Aes128Gcm::new_from_slice(bytes).ok().map(|key| Self::Aes128(Box::new(key))),
            32 => Aes256Gcm::new_from_slice(bytes).ok().map(|key| Self::Aes256(Box::new(key))),
            _ => None,
        }
    }

    /// Returns the decrypted payload, or `None` if the payload does not authenticate.
    fn decrypt(&self, nonce: &[u8; NONCE_BYTES], payload: &[u8]) -> Option<Vec<u8>> {
        let nonce = Nonce::from(*nonce);
        match self {
            Self::Aes128(key) => key.decrypt(&nonce, payload).ok(),
            Self::Aes256(key) => key.decrypt(&nonce, payload).ok(),
        }
    }
}

/// The result of decrypting a payload.
pub enum Decrypted {
    /// The payload, still compressed.
    Clear(Vec<u8>),
    /// No known data key fits. The caller has not added or refused these wrapped keys yet.
    Unknown(Vec<WrappedKey>),
    /// The payload cannot be decrypted, for this reason.
    Undecryptable(String),
}

/// Data keys, by their wrapped form.
#[derive(Default)]
pub struct Keyring {
    keys: HashMap<Vec<u8>, std::result::Result<DataKey, String>>,
}

impl Keyring {
    /// Adds a data key. A key whose length does not fit AES is refused, as with `refuse`.
    pub fn add(&mut self, wrapped: &[u8], key: &[u8]) {
        let known = DataKey::new(key)
            .ok_or_else(|| format!("the unwrapped data key has {} bytes, expected 16 or 32", key.len()));
        self.insert(wrapped, known);
    }

    /// Records that a data key cannot be unwrapped, and the reason.
    pub fn refuse(&mut self, wrapped: &[u8], why: &str) {
        self.insert(wrapped, Err(why.to_owned()));
    }

    fn insert(&mut self, wrapped: &[u8], key: std::result::Result<DataKey, String>) {
        if self.keys.len() >= MAX_KEYS {
            self.keys.clear();
        }
        self.keys.insert(wrapped.to_vec(), key);
    }

    /// Decrypts with the first known data key that fits. All wrapped keys of an entry contain the same data
    /// key.
    pub fn decrypt(&self, metadata: &MessageMetadata<'_>, payload: &[u8]) -> Result<Decrypted> {
        let wrapped = wrapped_keys(metadata)?;
        if wrapped.len() > MAX_KEYS_OF_ENTRY {
            let count = wrapped.len();
            return Ok(Decrypted::Undecryptable(format!(
                "the message has {count} wrapped keys, expected at most {MAX_KEYS_OF_ENTRY}"
            )));
        }
        let Ok(nonce) = <&[u8; NONCE_BYTES]>::try_from(metadata.encryption_param) else {
            let length = metadata.encryption_param.len();
            return Ok(Decrypted::Undecryptable(format!(
                "the nonce has {length} bytes, expected {NONCE_BYTES}"
            )));
        };
        let mut reasons: Vec<String> = Vec::new();
        let mut unknown = Vec::new();
        for key in &wrapped {
            match self.keys.get(&key.wrapped) {
                None => unknown.push(key.clone()),
                Some(Err(why)) => reasons.push(why.clone()),
                Some(Ok(data_key)) => match data_key.decrypt(nonce, payload) {
                    Some(clear) => return Ok(Decrypted::Clear(clear)),
                    None => reasons.push(format!(
                        "the payload does not authenticate with the data key of {:?}, because the payload was encrypted \
                         with another key, or was altered",
                        key.name
                    )),
                },
            }
        }
        Ok(if unknown.is_empty() {
            reasons.dedup();
            Decrypted::Undecryptable(reasons.join("; "))
        } else {
            Decrypted::Unknown(unknown)
        })
    }
}

/// Returns the error for an entry that cannot be decrypted.
pub fn undecryptable_error(metadata: &MessageMetadata<'_>, why: &str) -> KernelError {
    let keys = wrapped_keys(metadata).unwrap_or_default();
    let names: Vec<String> = keys.into_iter().take(MAX_NAMED).map(|key| key.name).collect();
    KernelError::new(
        ErrorKind::Encrypted,
        format!("the message is encrypted for the keys {names:?} and cannot be decrypted: {why}"),
    )
}

/// Returns JSON with all values that a consumer needs to decrypt the payload itself.
///
/// The JSON has the fields of the Java client's `EncryptionContext`, and for a chunk its place in the
/// message. Bytes are base64.
pub fn context_json(metadata: &MessageMetadata<'_>) -> Result<String> {
    let keys: Vec<Value> = wrapped_keys(metadata)?
        .into_iter()
        .map(|key| {
            let described: serde_json::Map<String, Value> =
                key.metadata.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
            json!({"name": key.name, "value": STANDARD.encode(key.wrapped), "metadata": described})
        })
        .collect();
    let mut context = json!({
        "algorithm": lossy(metadata.encryption_algo),
        "param": STANDARD.encode(metadata.encryption_param),
        "keys": keys,
        "compression": metadata.compression,
        "uncompressedSize": metadata.uncompressed_size,
        "batchSize": metadata.num_messages_in_batch,
    });
    if metadata.num_chunks > 1
        && let Some(fields) = context.as_object_mut()
    {
        let chunk = json!({
            "uuid": lossy(metadata.uuid),
            "id": metadata.chunk_id,
            "of": metadata.num_chunks,
            "totalSize": metadata.total_chunk_size,
        });
        fields.insert("chunk".to_owned(), chunk);
    }
    Ok(context.to_string())
}

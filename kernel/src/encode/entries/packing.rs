//! Compression and encryption of an entry's payload.

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes256Gcm, Nonce};

use crate::compression::{Codec, Compressor};
use crate::error::{KernelError, Result};
use crate::wire::{put_bytes, put_varint};

const NONCE_BYTES: usize = 12;
/// Number of bytes that AES-GCM adds to a payload.
const TAG_BYTES: usize = 16;

/// The data key with which one encoder encrypts every entry.
///
/// Nonces are consecutive numbers. A data key is never passed to two encoders, so no nonce is used twice with
/// the same key.
pub struct EntryCipher {
    aes: Box<Aes256Gcm>,
    /// The wrapped data key: an `EncryptionKeys` message for each key pair.
    keys: Vec<Vec<u8>>,
    used: u64,
}

impl std::fmt::Debug for EntryCipher {
    /// Formats without the key.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("EntryCipher").field("used", &self.used).finish_non_exhaustive()
    }
}

impl EntryCipher {
    /// Creates a cipher. `key` has 32 bytes; `wrapped` contains the name of each key pair and the wrapped
    /// data key.
    pub fn new(key: &[u8], wrapped: &[(String, Vec<u8>)]) -> Result<Self> {
        let aes = Aes256Gcm::new_from_slice(key)
            .map_err(|_| KernelError::schema(format!("data key: expected 32 bytes, got {}", key.len())))?;
        let keys = wrapped.iter().map(|(name, wrapped)| {
            let mut out = Vec::with_capacity(name.len() + wrapped.len() + 8);
            put_bytes(&mut out, 1, name.as_bytes());
            put_bytes(&mut out, 2, wrapped);
            out
        });
        Ok(Self { aes: Box::new(aes), keys: keys.collect(), used: 0 })
    }

    fn encrypt(&mut self, payload: &[u8]) -> Result<Encrypted> {
        let mut nonce = [0; NONCE_BYTES];
        self.used += 1;
        if let Some(low) = nonce.last_chunk_mut::<8>() {
            *low = self.used.to_be_bytes();
        }
        let payload = self
            .aes
            .encrypt(&Nonce::from(nonce), payload)
            .map_err(|_| KernelError::payload("the payload cannot be encrypted"))?;
        Ok(Encrypted { payload, nonce })
    }

    /// Returns an upper bound of the bytes that encryption adds to an entry.
    pub fn overhead(&self) -> usize {
        self.keys.iter().map(|key| key.len() + 8).sum::<usize>() + NONCE_BYTES + TAG_BYTES + 8
    }
}

struct Encrypted {
    payload: Vec<u8>,
    nonce: [u8; NONCE_BYTES],
}

/// The compressor and cipher of one call of `encode`.
pub struct Packing<'a> {
    compressor: Compressor,
    codec: Codec,
    cipher: Option<&'a mut EntryCipher>,
}

/// A payload ready to be sent.
pub struct Packed<'p> {
    /// The codec of the payload.
    pub codec: Codec,
    /// The payload, compressed and not yet encrypted.
    pub payload: &'p [u8],
}

impl<'a> Packing<'a> {
    /// Creates the packing of one call of `encode`.
    pub fn new(codec: Codec, cipher: Option<&'a mut EntryCipher>) -> Self {
        Self { compressor: Compressor::new(codec), codec, cipher }
    }

    /// Compresses `bytes`, unless compression enlarges them, and passes the result to `finish`.
    pub fn pack<T>(
        &mut self,
        bytes: &[u8],
        finish: impl FnOnce(Packed<'_>, &mut Encryptor<'_>) -> Result<T>,
    ) -> Result<T> {
        let mut encryptor = Encryptor { cipher: self.cipher.as_deref_mut() };
        let payload = self.compressor.compress(bytes)?;
        let packed = if payload.len() > bytes.len() {
            Packed { codec: Codec::None, payload: bytes }
        } else {
            Packed { codec: self.codec, payload }
        };
        finish(packed, &mut encryptor)
    }
}

/// The cipher of one entry. Without a key, the entry stays unchanged.
pub struct Encryptor<'a> {
    cipher: Option<&'a mut EntryCipher>,
}

impl Encryptor<'_> {
    /// Adds the fields of the encryption to `metadata`, and passes `metadata` and the encrypted payload to
    /// `send`.
    pub fn encrypt_entry<T>(
        &mut self,
        metadata: &mut Vec<u8>,
        payload: &[u8],
        send: impl FnOnce(&[u8], &[u8]) -> Result<T>,
    ) -> Result<T> {
        let Some(cipher) = self.cipher.as_deref_mut() else { return send(metadata, payload) };
        let encrypted = cipher.encrypt(payload)?;
        for key in &cipher.keys {
            put_bytes(metadata, 13, key);
        }
        put_bytes(metadata, 15, &encrypted.nonce);
        send(metadata, &encrypted.payload)
    }
}

/// Appends a property as a field of `MessageMetadata` or `SingleMessageMetadata`.
pub fn put_property(out: &mut Vec<u8>, field: u32, key: &[u8], value: &[u8]) {
    let mut pair = Vec::with_capacity(key.len() + value.len() + 8);
    put_bytes(&mut pair, 1, key);
    put_bytes(&mut pair, 2, value);
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, pair.len() as u64);
    out.extend_from_slice(&pair);
}

//! Pulsar's hash slots of keys, which Key_Shared subscriptions use to distribute keys among consumers.
//!
//! A slot is `(murmur3_32(key) & 0x7fffffff) % 65536`, or 1 if the result is 0 (`StickyKeyConsumerSelector`). The key
//! is the ordering key if the message has one, otherwise the partition key. A message without keys uses the text
//! `producer name-sequence id` (`Commands.resolveStickyKey`).
//!
//! Pulsar assigns one slot to a whole batch. This module uses the sequence id of each message instead, because the rows
//! of a table do not contain the batch of a message.

/// Number of hash slots. Their numbers are 0 to 65535; no key has slot 0.
pub const SLOTS: u32 = 65_536;

/// Returns the slot of a key.
pub fn slot_of_key(key: &[u8]) -> u32 {
    ((murmur3_32(key) & 0x7fff_ffff) % SLOTS).max(1)
}

/// Returns the slot of a message without a key.
pub fn slot_without_key(producer_name: &[u8], sequence_id: u64) -> u32 {
    let mut text = producer_name.to_vec();
    text.push(b'-');
    text.extend_from_slice(sequence_id.to_string().as_bytes());
    slot_of_key(&text)
}

/// Computes MurmurHash3 for x86 with 32 bits and seed 0 (public domain, Austin Appleby).
pub fn murmur3_32(data: &[u8]) -> u32 {
    let (blocks, tail) = data.as_chunks::<4>();
    let mut hash = 0u32;
    for block in blocks {
        hash ^= mix(u32::from_le_bytes(*block));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let rest = tail.iter().rev().fold(0u32, |rest, byte| rest << 8 | u32::from(*byte));
    if !tail.is_empty() {
        hash ^= mix(rest);
    }
    hash ^= data.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn mix(block: u32) -> u32 {
    block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_murmur3() {
        // Reference values of the algorithm's author's SMHasher and of Guava's murmur3_32(0).
        assert_eq!(murmur3_32(b""), 0);
        assert_eq!(murmur3_32(b"test"), 0xba6b_d213);
        assert_eq!(murmur3_32(b"Hello, world!"), 0xc036_3e43);
        assert_eq!(murmur3_32(b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
    }

    #[test]
    fn slot_0_stays_empty() {
        assert_eq!(slot_of_key(b""), 1);
    }
}

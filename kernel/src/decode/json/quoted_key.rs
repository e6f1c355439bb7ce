//! A key that is compared with the text of many objects.

/// A key without escapes, with its quotes and colon.
pub struct QuotedKey {
    bytes: Vec<u8>,
    /// First eight bytes of the key as a number; bytes after the key are 0.
    head: u64,
    /// Mask of the bits in `head` that belong to the key.
    head_bits: u64,
    /// Last eight bytes of a key that is longer than eight bytes.
    tail: Option<[u8; 8]>,
}

impl QuotedKey {
    /// Creates a key from its name, which must not need escapes.
    pub fn new(name: &[u8]) -> Self {
        let bytes = [b"\"", name, b"\":"].concat();
        let (mut head, mut head_bits) = ([0; 8], [0; 8]);
        for ((head, bits), byte) in head.iter_mut().zip(&mut head_bits).zip(&bytes) {
            (*head, *bits) = (*byte, 0xff);
        }
        let tail = bytes.last_chunk().copied().filter(|_| bytes.len() > 8);
        Self { bytes, head: u64::from_le_bytes(head), head_bits: u64::from_le_bytes(head_bits), tail }
    }

    /// Returns the number of bytes, with quotes and colon.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the key has this name.
    pub fn has_name(&self, name: &[u8]) -> bool {
        self.bytes.get(1..self.bytes.len() - 2) == Some(name)
    }

    /// Returns whether `text` begins with the key, its quotes and its colon.
    #[inline]
    pub fn is_prefix_of(&self, text: &[u8]) -> bool {
        // Two comparisons of numbers are faster than one comparison of slices, and most keys have at most
        // sixteen bytes.
        let Some(first) = text.first_chunk() else { return text.starts_with(&self.bytes) };
        if (u64::from_le_bytes(*first) ^ self.head) & self.head_bits != 0 {
            return false;
        }
        let Some(tail) = self.tail else { return true };
        let last = text.get(..self.bytes.len()).and_then(|key| key.last_chunk());
        last == Some(&tail) && (self.bytes.len() <= 16 || text.starts_with(&self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_begins_only_what_begins_with_its_bytes() {
        for length in 0..40 {
            let name: Vec<u8> = (0..length).map(|n| b'a' + n).collect();
            let key = QuotedKey::new(&name);
            let text = [b"\"", name.as_slice(), b"\":"].concat();
            assert!(key.has_name(&name) && key.len() == text.len());
            for behind in [&b""[..], b"1", b"1,\"next\":2}"] {
                let whole = [text.as_slice(), behind].concat();
                assert!(key.is_prefix_of(&whole), "{length}");
                for at in 0..text.len() {
                    let mut other = whole.clone();
                    other[at] ^= 1;
                    assert!(!key.is_prefix_of(&other), "{length}, byte {at}");
                    assert!(!key.is_prefix_of(&whole[..at]), "{length}, cut at {at}");
                }
            }
        }
    }
}

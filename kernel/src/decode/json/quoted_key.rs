//! A key that is looked for at the same place of object after object.

/// A key as it was written, with its quotes and colon.
pub struct QuotedKey {
    bytes: Vec<u8>,
    /// The first eight bytes as a number, without those behind the key; and which bits of it they are.
    head: u64,
    head_bits: u64,
    /// The last eight bytes of a key that has more.
    tail: Option<[u8; 8]>,
}

impl QuotedKey {
    /// Of a key without escapes.
    pub fn new(name: &[u8]) -> Self {
        let bytes = [b"\"", name, b"\":"].concat();
        let (mut head, mut head_bits) = ([0; 8], [0; 8]);
        for ((head, bits), byte) in head.iter_mut().zip(&mut head_bits).zip(&bytes) {
            (*head, *bits) = (*byte, 0xff);
        }
        let tail = bytes.last_chunk().copied().filter(|_| bytes.len() > 8);
        Self { bytes, head: u64::from_le_bytes(head), head_bits: u64::from_le_bytes(head_bits), tail }
    }

    /// Its bytes, with quotes and colon.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether this is its name.
    pub fn is_of(&self, name: &[u8]) -> bool {
        self.bytes.get(1..self.bytes.len() - 2) == Some(name)
    }

    /// Whether `text` begins with it.
    #[inline]
    pub fn begins(&self, text: &[u8]) -> bool {
        // Numbers are compared faster than slices, and most keys are of at most sixteen bytes.
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
            assert!(key.is_of(&name) && key.len() == text.len());
            for behind in [&b""[..], b"1", b"1,\"next\":2}"] {
                let whole = [text.as_slice(), behind].concat();
                assert!(key.begins(&whole), "{length}");
                for at in 0..text.len() {
                    let mut other = whole.clone();
                    other[at] ^= 1;
                    assert!(!key.begins(&other), "{length}, byte {at}");
                    assert!(!key.begins(&whole[..at]), "{length}, cut at {at}");
                }
            }
        }
    }
}

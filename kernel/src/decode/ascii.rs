//! UTF-8 validation that is fast for ASCII.

use std::str::Utf8Error;

/// Returns `bytes` if they are UTF-8.
#[inline]
pub fn checked_text(bytes: &[u8]) -> Result<&[u8], Utf8Error> {
    if is_ascii(bytes) { Ok(bytes) } else { std::str::from_utf8(bytes).map(str::as_bytes) }
}

/// Returns whether all bytes are ASCII. For short texts, this is several times as fast as `<[u8]>::is_ascii`.
#[inline]
fn is_ascii(bytes: &[u8]) -> bool {
    // The last chunk may overlap the previous chunk, because the length need not be a multiple of 16.
    if let Some(last) = bytes.last_chunk::<16>() {
        let (chunks, _) = bytes.as_chunks::<16>();
        let all = chunks.iter().fold(*last, |all, chunk| {
            let mut both = all;
            both.iter_mut().zip(chunk).for_each(|(one, other)| *one |= other);
            both
        });
        return u128::from_ne_bytes(all) & u128::from_ne_bytes([0x80; 16]) == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let both = u64::from_ne_bytes(*first) | u64::from_ne_bytes(*last);
        return both & u64::from_ne_bytes([0x80; 8]) == 0;
    }
    bytes.iter().fold(0, |all, byte| all | byte) < 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_above_is_enough_wherever_it_is() {
        for length in 0..100 {
            let mut bytes = vec![0x7f; length];
            assert!(is_ascii(&bytes), "{length}");
            for at in 0..length {
                bytes[at] = 0x80;
                assert!(!is_ascii(&bytes), "{length}, byte {at}");
                bytes[at] = 0;
            }
        }
    }
}

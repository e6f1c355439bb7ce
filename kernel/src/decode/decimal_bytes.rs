//! The unscaled value of a decimal as Avro writes it: two's complement, big endian.

/// Of 1 to 16 bytes; `None` for another number of them.
pub fn from_big_endian(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    wide.get_mut(16usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

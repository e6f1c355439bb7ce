//! Parts of JSON text, in the format of Jackson and serde_json.
//!
//! Most parts are a few bytes long. A few instructions are enough to copy a block of fixed size and then cut
//! off its end. A copy of the exact size is a function call that branches on the size. So short parts are
//! copied as blocks.

/// Number of bytes that one copy writes.
const BLOCK: usize = 32;
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Text that is written repeatedly.
#[derive(Debug)]
pub struct Token {
    /// The text, followed by a whole block of zeros, so that each part can be copied as a block.
    padded: Vec<u8>,
    length: usize,
}

impl Token {
    /// Creates `,"name":`.
    pub fn key(name: &str) -> Self {
        let mut padded = vec![b','];
        put_text(&mut padded, name);
        padded.push(b':');
        let length = padded.len();
        padded.extend_from_slice(&[0; BLOCK]);
        Self { padded, length }
    }

    /// Appends the text.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        put_part(out, &self.padded, 0, self.length);
    }
}

/// Appends `length` bytes of `data` from `start` on. `data` must contain these bytes.
#[inline]
fn put_part(out: &mut Vec<u8>, data: &[u8], start: usize, length: usize) {
    match block_at(data, start) {
        Some(block) if length <= BLOCK => put_cut(out, block, length),
        _ => out.extend_from_slice(data.get(start..start + length).unwrap_or_default()),
    }
}

#[inline]
fn block_at(data: &[u8], start: usize) -> Option<&[u8; BLOCK]> {
    data.get(start..).and_then(<[u8]>::first_chunk)
}

/// Appends the first `length` bytes of `block`.
#[inline]
fn put_cut<const N: usize>(out: &mut Vec<u8>, block: &[u8; N], length: usize) {
    let end = out.len() + length;
    out.extend_from_slice(block);
    out.truncate(end);
}

#[inline]
fn escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Appends `length` bytes of `data` from `start` on, which must be UTF-8, as text in quotes.
#[inline]
pub fn put_text_at(out: &mut Vec<u8>, data: &[u8], start: usize, length: usize) {
    if let Some(block) = block_at(data, start)
        && length <= BLOCK
        // `fold` without a short cut examines the whole block at the same time. Bytes after the text can
        // cause the slow path, but no wrong result.
        && !block.iter().fold(false, |any, byte| any | escaped(*byte))
    {
        out.push(b'"');
        put_cut(out, block, length);
        return out.push(b'"');
    }
    put_bytes_as_text(out, data.get(start..start + length).unwrap_or_default());
}

/// Appends text in quotes.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes_as_text(out, text.as_bytes());
}

/// Appends text in quotes, and copies runs of characters without escapes.
fn put_bytes_as_text(out: &mut Vec<u8>, mut rest: &[u8]) {
    out.push(b'"');
    while let Some(at) = rest.iter().position(|byte| escaped(*byte)) {
        let (run, tail) = rest.split_at(at);
        out.extend_from_slice(run);
        let Some((&byte, tail)) = tail.split_first() else { break };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => {
                let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).map_or(b'0', |c| c as u8);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(other >> 4), digit(other & 0xf)]);
            }
        }
        rest = tail;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Appends `true` or `false`.
#[inline]
pub fn put_bool(out: &mut Vec<u8>, value: bool) {
    // Choosing data is faster than branching, because the value cannot be predicted.
    let (text, length) = if value { (b"true\0\0\0\0", 4) } else { (b"false\0\0\0", 5) };
    put_cut(out, text, length);
}

/// Appends a whole number.
#[inline]
pub fn put_long(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    put_digits(out, value.unsigned_abs());
}

#[inline(always)]
fn put_digits(out: &mut Vec<u8>, number: u64) {
    const EIGHT: u64 = 100_000_000;
    let (head, rest) = (number / EIGHT, (number % EIGHT) as u32);
    if head == 0 {
        return put_head(out, rest);
    }
    if head < EIGHT {
        put_head(out, head as u32);
    } else {
        put_head(out, (head / EIGHT) as u32);
        out.extend_from_slice(&(eight_digits((head % EIGHT) as u32) | ZEROS).to_le_bytes());
    }
    out.extend_from_slice(&(eight_digits(rest) | ZEROS).to_le_bytes());
}

/// Appends a number below 10^8 without leading zeros.
#[inline(always)]
fn put_head(out: &mut Vec<u8>, number: u32) {
    // The length is computed from the number. To compute the length from the digits would delay the next
    // part.
    let length = 1 + number.max(1).ilog10() as usize;
    put_cut(out, &((eight_digits(number) | ZEROS) >> (64 - 8 * length)).to_le_bytes(), length);
}

/// Returns the digits of a number below 10^8 as bytes, with the first in the lowest byte.
///
/// Halves, quarters and digits are split off in all parts at the same time. One factor divides numbers below
/// 10^4 by 100; the other divides numbers below 100 by 10.
#[inline(always)]
fn eight_digits(number: u32) -> u64 {
    let halves = u64::from(number / 10_000) | u64::from(number % 10_000) << 32;
    let hundreds = (halves * 10_486) >> 20 & 0x0000_007f_0000_007f;
    let quarters = hundreds | (halves - 100 * hundreds) << 16;
    let tens = (quarters * 103) >> 10 & 0x000f_000f_000f_000f;
    tens | (quarters - 10 * tens) << 8
}

/// Appends the shortest number that is read as the same `value`. JSON has no number for NaN and infinities,
/// which Jackson writes and reads as names.
#[inline]
pub fn put_double(out: &mut Vec<u8>, value: f64) {
    let size = value.abs();
    // A decimal of at most 15 digits is the shortest text that is read as the same double. The quotient below
    // is rounded like a decimal that is read. Prices and whole numbers have no more digits.
    let scaled = (size * 1e4 + 0.5) as i64;
    if scaled >= 1_000_000_000_000_000 || scaled as f64 / 1e4 != size {
        return put_any_double(out, value);
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let (whole, fraction) = (scaled as u64 / 10_000, (scaled % 10_000) as u32);
    let digits = if whole < 10_000 {
        let digits = eight_digits(scaled as u32) | ZEROS;
        let length = [10, 100, 1_000].iter().fold(1, |length, limit| length + usize::from(whole >= *limit));
        put_cut(out, &((digits as u32) >> (32 - 8 * length)).to_le_bytes(), length);
        digits
    } else {
        put_digits(out, whole);
        eight_digits(fraction) | ZEROS
    };
    let ends = [10, 100, 1_000];
    let length = ends.iter().fold(5, |length, end| length - usize::from(fraction.is_multiple_of(*end)));
    // The point replaces the digit before the fraction.
    put_cut(out, &(digits >> 32 << 8 | u64::from(b'.')).to_le_bytes(), length);
}

#[inline(never)]
fn put_any_double(out: &mut Vec<u8>, value: f64) {
    match odd_number(value) {
        Some(name) => put_text(out, name),
        None => out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes()),
    }
}

/// Appends a number like [`put_double`].
pub fn put_float(out: &mut Vec<u8>, value: f32) {
    match odd_number(f64::from(value)) {
        Some(name) => put_text(out, name),
        None => out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes()),
    }
}

/// Returns the name of NaN or an infinity, which JSON cannot write as a number.
pub fn odd_number(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some("NaN")
    } else if value.is_infinite() {
        Some(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        None
    }
}

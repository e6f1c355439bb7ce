//! The methods of the cursor that read JSON text, which is borrowed from the payload if it has no escapes.

use std::borrow::Cow;

use super::cursor::{JsonCursor, JsonResult, as_text};

impl<'a> JsonCursor<'a> {
    /// Reads a text; the cursor must be at its opening quote.
    #[inline]
    pub fn text(&mut self) -> JsonResult<Cow<'a, [u8]>> {
        let start = self.offset + 1;
        let end = self.find_special(start)?;
        let plain = self.text.get(start..end).unwrap_or_default();
        self.offset = end;
        if self.peek() == Some(b'"') {
            self.offset += 1;
            return Ok(Cow::Borrowed(plain));
        }
        self.unescape(as_text(plain)).map(|text| Cow::Owned(text.into_bytes()))
    }

    /// Skips a text.
    #[inline]
    pub(super) fn skip_text(&mut self) -> JsonResult<()> {
        let end = self.find_special(self.offset + 1)?;
        if self.text.get(end) == Some(&b'"') {
            self.offset = end + 1;
            return Ok(());
        }
        self.text().map(|_| ())
    }

    /// Returns the offset of the next quote or backslash.
    #[inline]
    fn find_special(&mut self, start: usize) -> JsonResult<usize> {
        let bytes = self.text;
        let mut at = start;
        while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let found = specials(u64::from_le_bytes(*chunk));
            if found != 0 {
                return Ok(at + found.trailing_zeros() as usize / 8);
            }
            at = skip_plain(bytes, at + 8);
        }
        match bytes.get(at..).and_then(|rest| rest.iter().position(|byte| is_special(*byte))) {
            Some(more) => Ok(at + more),
            None => {
                self.offset = self.text.len();
                self.syntax_fault("the end of a text")
            }
        }
    }

    /// Reads the rest of a text, from the escape at the cursor on. Returns the whole text, which begins with
    /// `plain`.
    #[cold]
    fn unescape(&mut self, plain: &str) -> JsonResult<String> {
        let mut out = plain.to_owned();
        loop {
            if self.peek() == Some(b'"') {
                self.offset += 1;
                return Ok(out);
            }
            self.offset += 1;
            let plain = match self.peek() {
                Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
                Some(b'b') => '\u{8}',
                Some(b'f') => '\u{c}',
                Some(b'n') => '\n',
                Some(b'r') => '\r',
                Some(b't') => '\t',
                Some(b'u') => self.code_point()?,
                _ => return self.syntax_fault("an escape"),
            };
            out.push(plain);
            let start = self.offset + 1;
            let end = self.find_special(start)?;
            out.push_str(as_text(self.text.get(start..end).unwrap_or_default()));
            self.offset = end;
        }
    }

    /// Reads the digits after the `u` of an escape, and a second escape for a surrogate pair.
    fn code_point(&mut self) -> JsonResult<char> {
        let unit = self.four_digits()?;
        if let Some(character) = char::from_u32(unit) {
            return Ok(character);
        }
        let next = self.text.get(self.offset + 1..self.offset + 3);
        if unit < 0xdc00 && next == Some(b"\\u") {
            self.offset += 2;
            let low = self.four_digits()?;
            let pair = (0x10000 + ((unit - 0xd800) << 10)).wrapping_add(low.wrapping_sub(0xdc00));
            if (0xdc00..0xe000).contains(&low)
                && let Some(character) = char::from_u32(pair)
            {
                return Ok(character);
            }
        }
        self.syntax_fault("the other half of a surrogate pair")
    }

    fn four_digits(&mut self) -> JsonResult<u32> {
        let digits = self.text.get(self.offset + 1..self.offset + 5);
        let digits = digits.filter(|text| text.iter().all(u8::is_ascii_hexdigit));
        match digits.and_then(|digits| u32::from_str_radix(as_text(digits), 16).ok()) {
            Some(unit) => {
                self.offset += 4;
                Ok(unit)
            }
            None => self.syntax_fault("four hexadecimal digits"),
        }
    }
}

#[inline]
fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\'
}

/// Returns a number that marks the first quote or backslash in `word`: the lowest set bit is in the byte of
/// this character.
///
/// Bits above this bit may be wrong, because subtracting 1 from a byte that is 0 borrows from the next byte.
#[inline]
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let zeros = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes & HIGHEST;
    zeros(word ^ u64::from_ne_bytes([b'"'; 8])) | zeros(word ^ u64::from_ne_bytes([b'\\'; 8]))
}

/// Skips blocks of sixteen bytes without a quote or backslash; the check of a block needs only a few instructions.
#[inline]
fn skip_plain(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        if chunk.iter().fold(false, |any, byte| any | is_special(*byte)) {
            break;
        }
        at += 16;
    }
    at
}

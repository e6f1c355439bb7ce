//! The methods of the cursor that read JSON numbers, with fast paths for common forms.

use super::cursor::{JsonCursor, JsonResult, as_text};

impl<'a> JsonCursor<'a> {
    /// Reads a number, and returns its text.
    #[inline]
    pub fn number(&mut self) -> JsonResult<&'a str> {
        let start = self.offset;
        self.skip_number()?;
        Ok(as_text(self.text.get(start..self.offset).unwrap_or_default()))
    }

    /// Skips a number.
    #[inline]
    pub(super) fn skip_number(&mut self) -> JsonResult<()> {
        if self.peek() == Some(b'-') {
            self.offset += 1;
        }
        if self.peek() == Some(b'0') {
            self.offset += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.offset += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.offset += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.offset += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    #[inline]
    fn digits(&mut self) -> JsonResult<()> {
        match self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count() {
            0 => self.syntax_fault("a digit"),
            digits => {
                self.offset += digits;
                Ok(())
            }
        }
    }

    /// Reads an integer of at most 19 digits, without point or exponent. For another number, reads nothing
    /// and returns `None`.
    #[inline]
    pub fn short_integer(&mut self) -> Option<i64> {
        let rest = self.text.get(self.offset..)?;
        let (negative, rest) = match rest.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, rest),
        };
        let (value, digits) = leading_digits(rest);
        let plain = !matches!(rest.get(digits), Some(b'.' | b'e' | b'E'));
        let whole = (1..=19).contains(&digits) && (digits == 1 || rest.first() != Some(&b'0'));
        if !plain || !whole {
            return None;
        }
        let value = i64::try_from(value).ok()?;
        self.offset += digits + usize::from(negative);
        Some(if negative { -value } else { value })
    }

    /// Reads a number with a point and at most 15 digits; for another number, reads nothing and returns `None`.
    ///
    /// Only the division rounds, so the result is the nearest double (Clinger 1990).
    #[inline]
    pub fn short_fraction(&mut self) -> Option<f64> {
        const POWERS: [f64; 16] =
            [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
        let rest = self.text.get(self.offset..)?;
        let (negative, rest) = match rest.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, rest),
        };
        let (before, whole) = leading_digits(rest);
        let fraction = rest.get(whole..)?.strip_prefix(b".")?;
        let (after, part) = leading_digits(fraction);
        let plain = !matches!(fraction.get(part), Some(b'e' | b'E'));
        let canonical = whole > 0 && part > 0 && (whole == 1 || rest.first() != Some(&b'0'));
        if !plain || !canonical || whole + part > 15 {
            return None;
        }
        let power = *POWERS.get(part)?;
        let value = (before as f64 * power + after as f64) / power;
        self.offset += usize::from(negative) + whole + 1 + part;
        Some(if negative { -value } else { value })
    }
}

/// Returns the number at the start of a text, and the number of its digits; correct for at most 19 digits.
#[inline]
fn leading_digits(text: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    for (digits, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (value, digits);
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (value, text.len())
}

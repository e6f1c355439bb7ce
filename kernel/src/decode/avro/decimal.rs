//! Decimals: unscaled values in two's complement, big endian, of any length.

use super::cursor::{AvroCursor, AvroResult, fault};
use super::plan::{DecimalPlan, DecimalTextPlan};

/// What a limb of a number in text is: 10 to the power of [`LIMB_DIGITS`].
const LIMB: u64 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;

/// A decimal of at most 38 digits, unscaled.
pub fn decimal(how: &DecimalPlan, cursor: &mut AvroCursor<'_>) -> AvroResult<i128> {
    let bytes = match how.fixed {
        Some(size) => cursor.take(size)?,
        None => cursor.bytes()?,
    };
    let sign: u8 = if bytes.first().is_some_and(|b| b & 0x80 != 0) { 0xff } else { 0 };
    let (head, tail) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut wide = [sign; 16];
    for (to, from) in wide.iter_mut().rev().zip(tail.iter().rev()) {
        *to = *from;
    }
    let value = i128::from_be_bytes(wide);
    // What lies before the last 16 bytes may only repeat the sign.
    let whole = head.iter().all(|b| *b == sign) && (value < 0) == (sign == 0xff);
    let scaled =
        value.checked_mul(how.factor).filter(|v| whole && v.unsigned_abs() < how.limit.unsigned_abs());
    scaled.map_or_else(|| fault("expected a decimal of the schema's precision, got more digits"), Ok)
}

/// The exact digits of a decimal of any size.
pub fn decimal_text(how: &DecimalTextPlan, cursor: &mut AvroCursor<'_>) -> AvroResult<String> {
    let bytes = match how.fixed {
        Some(size) => cursor.take(size)?,
        None => cursor.bytes()?,
    };
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let significant =
        bytes.iter().position(|b| *b != sign).and_then(|start| bytes.get(start..)).unwrap_or_default();
    if significant.len() > how.max_bytes {
        return fault("expected a decimal of the schema's precision, got more digits");
    }
    let mut digits = magnitude_digits(significant, negative);
    if digits.len() <= how.scale {
        digits.insert_str(0, &"0".repeat(how.scale + 1 - digits.len()));
    }
    if how.scale > 0 {
        digits.insert(digits.len() - how.scale, '.');
    }
    if negative {
        digits.insert(0, '-');
    }
    Ok(digits)
}

/// Decimal digits of a number's distance from zero, without leading zeros; of zero "0". `bytes` lack bytes of the sign.
fn magnitude_digits(bytes: &[u8], negative: bool) -> String {
    // Lowest limb first. The distance of a negative number is one more than the number with all bits turned.
    let mut limbs = vec![0u64];
    let mut shift = |factor: u64, carry: u64| {
        let mut carry = carry;
        for limb in &mut limbs {
            let value = *limb * factor + carry;
            (*limb, carry) = (value % LIMB, value / LIMB);
        }
        if carry > 0 {
            limbs.push(carry);
        }
    };
    for byte in bytes {
        shift(256, u64::from(if negative { !byte } else { *byte }));
    }
    if negative {
        shift(1, 1);
    }
    let mut text = limbs.pop().unwrap_or_default().to_string();
    for limb in limbs.iter().rev() {
        text.push_str(&format!("{limb:0LIMB_DIGITS$}"));
    }
    text
}

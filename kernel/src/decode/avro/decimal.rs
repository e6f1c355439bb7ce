//! The decoder of decimals: unscaled values in two's complement, big endian, of any length.

use super::cursor::{AvroCursor, AvroResult, fault};
use super::plan::{DecimalPlan, DecimalTextPlan};

/// Base of the limbs for the conversion of a number to text: 10 to the power of [`LIMB_DIGITS`].
const LIMB: u64 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;

/// Reads a decimal of at most 38 digits, and returns its unscaled value.
pub fn decimal(plan: &DecimalPlan, cursor: &mut AvroCursor<'_>) -> AvroResult<i128> {
    let bytes = match plan.fixed {
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
    // The bytes before the last 16 must only repeat the sign.
    let whole = head.iter().all(|b| *b == sign) && (value < 0) == (sign == 0xff);
    let scaled =
        value.checked_mul(plan.factor).filter(|v| whole && v.unsigned_abs() < plan.limit.unsigned_abs());
    scaled.map_or_else(|| fault("expected a decimal of the schema's precision, got more digits"), Ok)
}

/// Reads a decimal of any size, and returns its exact text.
pub fn decimal_text(plan: &DecimalTextPlan, cursor: &mut AvroCursor<'_>) -> AvroResult<String> {
    let bytes = match plan.fixed {
        Some(size) => cursor.take(size)?,
        None => cursor.bytes()?,
    };
    let negative = bytes.first().is_some_and(|b| b & 0x80 != 0);
    let sign = if negative { 0xff } else { 0 };
    let significant =
        bytes.iter().position(|b| *b != sign).and_then(|start| bytes.get(start..)).unwrap_or_default();
    if significant.len() > plan.max_bytes {
        return fault("expected a decimal of the schema's precision, got more digits");
    }
    let mut digits = magnitude_digits(significant, negative);
    if digits.len() <= plan.scale {
        digits.insert_str(0, &"0".repeat(plan.scale + 1 - digits.len()));
    }
    if plan.scale > 0 {
        digits.insert(digits.len() - plan.scale, '.');
    }
    if negative {
        digits.insert(0, '-');
    }
    Ok(digits)
}

/// Returns the decimal digits of a number's absolute value, without leading zeros.
///
/// `bytes` are the number in two's complement, without leading bytes that only repeat the sign. The text of
/// zero is `0`.
fn magnitude_digits(bytes: &[u8], negative: bool) -> String {
    // The lowest limb is first. The absolute value of a negative number is its inverted bits plus one.
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

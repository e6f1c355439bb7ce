//! Exact numbers from decimal text or from the bytes of a decimal, without rounding.

/// A number `± mantissa * 10^exponent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactNumber {
    negative: bool,
    /// Digits of the number, without zeros at the end; 0 for the number zero.
    mantissa: i128,
    exponent: i64,
}

/// A number from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenNumber {
    /// A number whose digits fit a decimal.
    Number(ExactNumber),
    /// A number with more digits than a decimal can have.
    TooLong {
        /// True if the number has no fraction.
        whole: bool,
    },
}

impl WrittenNumber {
    /// Parses the numbers that Java's `BigDecimal` accepts, or returns `None` for other text.
    ///
    /// These are all numbers of JSON, and also numbers with a plus sign, and numbers such as `.5` and `5.`.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = split_sign(text.as_bytes());
        let (digits, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (unsigned.get(..at)?, parse_exponent(unsigned.get(at + 1..)?)?),
            None => (unsigned, 0),
        };
        let mut mantissa = Some(0i128);
        // Zeros are added to the mantissa only before another digit. So zeros at the end change only the
        // exponent.
        let (mut zeros, mut decimals, mut any, mut point) = (0u32, 0i64, false, false);
        for byte in digits {
            match byte {
                b'.' if !point => point = true,
                b'0'..=b'9' => {
                    any = true;
                    decimals += i64::from(point);
                    if *byte == b'0' {
                        zeros = zeros.saturating_add(1);
                        continue;
                    }
                    mantissa = mantissa.and_then(|mantissa| push_digit(mantissa, zeros, byte - b'0'));
                    zeros = 0;
                }
                _ => return None,
            }
        }
        if !any {
            return None;
        }
        let exponent = exponent.saturating_sub(decimals).saturating_add(i64::from(zeros));
        Some(mantissa.map_or(Self::TooLong { whole: exponent >= 0 }, |mantissa| {
            Self::Number(ExactNumber { negative, mantissa, exponent })
        }))
    }

    /// Returns the number times `10^scale`, if the result is whole and has at most 38 digits.
    pub fn unscaled(self, scale: i8) -> Option<i128> {
        let Self::Number(number) = self else { return None };
        if number.mantissa == 0 {
            return Some(0);
        }
        let shift = number.exponent.checked_add(i64::from(scale))?;
        let value = number.mantissa.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?;
        Some(if number.negative { -value } else { value })
    }

    /// Returns the unscaled value of a decimal of this type, or `None` if the number does not fit the type.
    pub fn decimal(self, precision: u8, scale: i8) -> Option<i128> {
        let limit = 10u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
        self.unscaled(scale).filter(|value| value.unsigned_abs() < limit)
    }

    /// Returns the nanoseconds of a number of seconds, as Jackson 2.17 reads it into Java's `Instant`.
    ///
    /// Digits below a nanosecond are removed. Jackson writes the whole seconds of an instant, the point, and
    /// its nanoseconds. So the fraction is added to negative whole seconds: half a second before 1970 is
    /// `-1.500000000`. The result is `None` for numbers that are too large.
    pub fn java_nanos(self) -> Option<i128> {
        const SECOND: u128 = 1_000_000_000;
        let Self::Number(number) = self else { return None };
        let mantissa = number.mantissa.unsigned_abs();
        let shift = number.exponent.checked_add(9)?;
        let power = 10u128.checked_pow(u32::try_from(shift.unsigned_abs()).unwrap_or(u32::MAX));
        let nanos = match (shift < 0, power) {
            _ if mantissa == 0 => 0,
            (false, power) => mantissa.checked_mul(power?)?,
            (true, power) => power.map_or(0, |power| mantissa / power),
        };
        let magnitude = i128::try_from(nanos).ok()?;
        let fraction = i128::try_from(nanos % SECOND).ok()?;
        Some(match number.negative {
            false => magnitude,
            true if nanos < SECOND => -magnitude,
            true => 2 * fraction - magnitude,
        })
    }

    /// Returns whether the number has no fraction.
    pub fn is_whole(self) -> bool {
        match self {
            Self::Number(number) => number.mantissa == 0 || number.exponent >= 0,
            Self::TooLong { whole } => whole,
        }
    }

    /// Returns the number as an integer, or `None` if the number has a fraction or does not fit into 64 bits.
    pub fn integer(self) -> Option<i64> {
        i64::try_from(self.unscaled(0)?).ok()
    }
}

/// Appends `zeros` and then `digit` to the mantissa.
fn push_digit(mantissa: i128, zeros: u32, digit: u8) -> Option<i128> {
    if mantissa == 0 {
        return Some(i128::from(digit));
    }
    mantissa.checked_mul(10i128.checked_pow(zeros.checked_add(1)?)?)?.checked_add(i128::from(digit))
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

/// Parses the number after an `e`; a number outside the range of 64 bits becomes the nearest number in this range.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let push = |value: i64, digit: &u8| value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    let value = digits.iter().fold(0, push);
    Some(if negative { -value } else { value })
}

/// Returns the unscaled value of a decimal in Avro's form: 1 to 16 bytes in two's complement, big endian.
///
/// The result is `None` for another number of bytes.
pub fn decimal_from_bytes(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    wide.get_mut(16usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Option<i128> {
        WrittenNumber::parse(text)?.decimal(10, 2)
    }

    #[test]
    fn decimals_are_exact_or_nothing() {
        for (text, unscaled) in [
            ("12.5", 1250),
            ("-12.50000000000000000000000000000000000000000000000000", -1250),
            ("1234", 123_400),
            ("0.00001e3", 1),
            ("125e-1", 1250),
            ("1E+3", 100_000),
            ("00012", 1200),
            ("+.5", 50),
            ("5.", 500),
            ("99999999.99", 9_999_999_999),
            ("0e999999999999999999999999", 0),
            ("-0", 0),
            ("0.000", 0),
        ] {
            assert_eq!(decimal(text), Some(unscaled), "{text}");
        }
        for text in [
            "12.999",
            "0.001",
            "1e-3",
            "100000000",
            "-100000000.00",
            "1e999999999999999999999999",
            "1e-999999999999999999999999",
            "123456789012345678901234567890123456789012345678901234567890",
        ] {
            assert!(WrittenNumber::parse(text).is_some(), "{text}");
            assert_eq!(decimal(text), None, "{text}");
        }
    }

    #[test]
    fn other_text_is_no_number() {
        for text in ["", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "0x1", "1 ", "NaN", "1_0", "--1", "1d"] {
            assert_eq!(WrittenNumber::parse(text), None, "{text}");
        }
    }

    #[test]
    fn integers_lose_no_digit() {
        for (text, value) in [
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("9223372036854775807.00", Some(i64::MAX)),
            ("-9.223372036854775808e18", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("1.5", None),
            ("1e3", Some(1000)),
        ] {
            assert_eq!(WrittenNumber::parse(text).and_then(WrittenNumber::integer), value, "{text}");
        }
    }
}

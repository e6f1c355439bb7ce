//! Numbers written as decimal text, or as the bytes of a decimal, taken exactly: nothing is rounded.

/// `± mantissa * 10^exponent`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactNumber {
    negative: bool,
    /// Not divisible by ten unless it is 0.
    mantissa: i128,
    exponent: i64,
}

/// What text says that is a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenNumber {
    /// A number.
    Number(ExactNumber),
    /// A number of more digits than any decimal has.
    TooLong {
        /// Whether it has no fraction.
        whole: bool,
    },
}

impl WrittenNumber {
    /// What Java's `BigDecimal` takes, which is what JSON takes, and a plus, `.5` and `5.`; `None` for other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = signed(text.as_bytes());
        let (digits, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (unsigned.get(..at)?, parse_exponent(unsigned.get(at + 1..)?)?),
            None => (unsigned, 0),
        };
        let mut mantissa = Some(0i128);
        // Zeros are put in front of the next digit, if one comes.
        let (mut zeros, mut behind_point, mut any, mut point) = (0u32, 0i64, false, false);
        for byte in digits {
            match byte {
                b'.' if !point => point = true,
                b'0'..=b'9' => {
                    any = true;
                    behind_point += i64::from(point);
                    if *byte == b'0' {
                        zeros = zeros.saturating_add(1);
                        continue;
                    }
                    mantissa = mantissa.and_then(|so_far| longer(so_far, zeros, byte - b'0'));
                    zeros = 0;
                }
                _ => return None,
            }
        }
        if !any {
            return None;
        }
        let exponent = exponent.saturating_sub(behind_point).saturating_add(i64::from(zeros));
        Some(mantissa.map_or(Self::TooLong { whole: exponent >= 0 }, |mantissa| {
            Self::Number(ExactNumber { negative, mantissa, exponent })
        }))
    }

    /// The number times `10^scale`, if that is whole and has at most 38 digits.
    pub fn unscaled(self, scale: i8) -> Option<i128> {
        let Self::Number(number) = self else { return None };
        if number.mantissa == 0 {
            return Some(0);
        }
        let shift = number.exponent.checked_add(i64::from(scale))?;
        let value = number.mantissa.checked_mul(10i128.checked_pow(u32::try_from(shift).ok()?)?)?;
        Some(if number.negative { -value } else { value })
    }

    /// The unscaled value of a decimal of this type; `None` when it has not enough digits.
    pub fn decimal(self, precision: u8, scale: i8) -> Option<i128> {
        let limit = 10u128.checked_pow(u32::from(precision)).unwrap_or(u128::MAX);
        self.unscaled(scale).filter(|value| value.unsigned_abs() < limit)
    }

    /// Nanoseconds of a number of seconds, as Jackson 2.17 reads one into Java's `Instant`: digits below them are cut,
    /// and behind a negative number of whole seconds the fraction counts forwards, since Jackson writes the seconds of
    /// an instant, the point, and its nanoseconds. Half a second before 1970 is `-1.500000000`. `None` for numbers that are too large.
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

    /// Whether the number has no fraction.
    pub fn is_whole(self) -> bool {
        match self {
            Self::Number(number) => number.mantissa == 0 || number.exponent >= 0,
            Self::TooLong { whole } => whole,
        }
    }

    /// As a whole number.
    pub fn integer(self) -> Option<i64> {
        i64::try_from(self.unscaled(0)?).ok()
    }
}

/// `so_far` with `zeros` and `digit` behind it.
fn longer(so_far: i128, zeros: u32, digit: u8) -> Option<i128> {
    if so_far == 0 {
        return Some(i128::from(digit));
    }
    so_far.checked_mul(10i128.checked_pow(zeros.checked_add(1)?)?)?.checked_add(i128::from(digit))
}

fn signed(text: &[u8]) -> (bool, &[u8]) {
    match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    }
}

/// The number behind an `e`; one that 64 bits do not hold is as far from 0 as they reach.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = signed(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let push = |value: i64, digit: &u8| value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    let value = digits.iter().fold(0, push);
    Some(if negative { -value } else { value })
}

/// The unscaled value of a decimal as Avro writes it, two's complement, big endian: of 1 to 16 bytes; `None` for another number of them.
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

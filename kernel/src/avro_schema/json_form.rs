//! How JSON writes a value where that is not the plain form of its Avro type.
//!
//! Pulsar's Java client describes classes of `java.time` and others by an Avro type, and Jackson writes them in a form
//! of its own. The Python package recognises these classes and notes the form in the attribute `jsonForm` of the type
//! (`schema/json_document.py`), so that only one place knows the classes.

use arrow_schema::TimeUnit;

use super::{AvroType, LogicalType};

/// The form of a value in JSON, and with it the type of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonForm {
    /// Microseconds since 1970 in UTC. Whole numbers count this unit.
    Instant(TimeUnit),
    /// Microseconds since 1970 on a local clock. Whole numbers count this unit.
    LocalDateTime(TimeUnit),
    /// Microseconds since midnight. Whole numbers count this unit.
    TimeOfDay(TimeUnit),
    /// Days since 1970.
    Date,
    /// A UTF-16 code unit, as a text of one character.
    Character,
    /// Text of a number, as a number.
    Decimal,
    /// Text of a whole number, as a number.
    Integer,
    /// Text that is the JSON of a value of any type.
    Any,
}

impl JsonForm {
    /// The form called `name` on the Avro type `base`; `None` for unknown ones, which are ignored like logical types.
    pub fn from_name(base: &str, name: &str) -> Option<Self> {
        let form = match base {
            "int" => match name {
                "date" => Self::Date,
                "char" => Self::Character,
                _ => return None,
            },
            "string" => match name {
                "decimal" => Self::Decimal,
                "integer" => Self::Integer,
                "any" => Self::Any,
                _ => return None,
            },
            "long" => {
                let (kind, unit) = name.rsplit_once('-')?;
                let unit = match unit {
                    "seconds" => TimeUnit::Second,
                    "millis" => TimeUnit::Millisecond,
                    "micros" => TimeUnit::Microsecond,
                    "nanos" => TimeUnit::Nanosecond,
                    _ => return None,
                };
                match kind {
                    "instant" => Self::Instant(unit),
                    "local-date-time" => Self::LocalDateTime(unit),
                    "time" => Self::TimeOfDay(unit),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(form)
    }

    /// The name by which [`from_name`](Self::from_name) finds the form on its [`base`](Self::base).
    pub fn name(self) -> String {
        match self {
            Self::Instant(unit) => format!("instant-{}", unit_name(unit)),
            Self::LocalDateTime(unit) => format!("local-date-time-{}", unit_name(unit)),
            Self::TimeOfDay(unit) => format!("time-{}", unit_name(unit)),
            Self::Date => "date".to_owned(),
            Self::Character => "char".to_owned(),
            Self::Decimal => "decimal".to_owned(),
            Self::Integer => "integer".to_owned(),
            Self::Any => "any".to_owned(),
        }
    }

    /// The Avro type.
    pub fn base(self) -> &'static str {
        match self {
            Self::Instant(_) | Self::LocalDateTime(_) | Self::TimeOfDay(_) => "long",
            Self::Date | Self::Character => "int",
            Self::Decimal | Self::Integer | Self::Any => "string",
        }
    }

    /// The Avro type, without a meaning.
    pub fn plain(self) -> AvroType {
        match self.base() {
            "long" => AvroType::Long(LogicalType::Number),
            "int" => AvroType::Int(LogicalType::Number),
            _ => AvroType::String,
        }
    }
}

fn unit_name(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Second => "seconds",
        TimeUnit::Millisecond => "millis",
        TimeUnit::Microsecond => "micros",
        TimeUnit::Nanosecond => "nanos",
    }
}

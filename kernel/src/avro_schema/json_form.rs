//! Forms of values in JSON that differ from the plain form of their Avro type.
//!
//! Pulsar's Java client describes some classes, such as the classes of `java.time`, by an Avro type. But
//! Jackson writes their values in another form. The Python package recognizes these classes, and sets the
//! attribute `jsonForm` of the type to the form (`schema/avro/json_document.py`). So only that Python module
//! depends on the names of the classes.

use arrow_schema::TimeUnit;

use super::{AvroType, LogicalType};

/// The form of a value in JSON, which also determines the type of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonForm {
    /// Microseconds since 1970 in UTC. The unit applies to whole numbers in JSON.
    Instant(TimeUnit),
    /// Microseconds since 1970 on a local clock. The unit applies to whole numbers in JSON.
    LocalDateTime(TimeUnit),
    /// Microseconds since midnight. The unit applies to whole numbers in JSON.
    TimeOfDay(TimeUnit),
    /// Days since 1970.
    Date,
    /// A UTF-16 code unit, as a text of one character.
    Character,
    /// The text of a number, which JSON writes as a number.
    Decimal,
    /// The text of a whole number, which JSON writes as a number.
    Integer,
    /// The JSON text of a value of any type.
    Any,
}

impl JsonForm {
    /// Returns the form `name` of the Avro type `base`, or `None` if it is unknown.
    ///
    /// Unknown forms are ignored, like unknown logical types.
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

    /// Returns the name that [`from_name`](Self::from_name) accepts for the form's [`base`](Self::base).
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

    /// Returns the name of the Avro type that the schema contains for the form.
    pub fn base(self) -> &'static str {
        match self {
            Self::Instant(_) | Self::LocalDateTime(_) | Self::TimeOfDay(_) => "long",
            Self::Date | Self::Character => "int",
            Self::Decimal | Self::Integer | Self::Any => "string",
        }
    }

    /// Returns the Avro type that the schema contains for the form, without a logical type.
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

//! How JSON tells the branches of a union apart.
//!
//! Jackson, which writes Pulsar's JSON, writes a bare value; Avro's JSON encoding writes an object whose one
//! key names the branch (<https://avro.apache.org/docs/1.12.0/specification/#json-encoding>). Both are read. A
//! value is written bare, for Jackson's sake, where it can be read back into its branch, else with its tag.

use crate::document::AvroType;

/// The branches by the names that tags have.
#[derive(Debug, Clone)]
pub struct Tags(Vec<(String, usize)>);

impl Tags {
    /// Of all branches, null among them, to their index among those that are not null.
    pub fn new(branches: &[AvroType]) -> Self {
        let members: Vec<&AvroType> = branches.iter().filter(|kind| **kind != AvroType::Null).collect();
        let full = members.iter().enumerate().map(|(i, kind)| (kind.branch_name().to_owned(), i));
        let mut names: Vec<(String, usize)> = full.collect();
        for (i, kind) in members.iter().enumerate() {
            // Some writers leave the namespace out; a full name goes before.
            let short = kind.branch_name().rsplit('.').next().unwrap_or_default();
            if !names.iter().any(|(name, _)| name == short) {
                names.push((short.to_owned(), i));
            }
        }
        Self(names)
    }

    /// The branch that `key` names.
    pub fn branch(&self, key: &str) -> Option<usize> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, index)| *index)
    }
}

/// What a value of a type looks like in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Boolean,
    /// A number without point or exponent.
    Whole,
    /// A number with point or exponent.
    Fraction,
    /// Either.
    Number,
    Text,
    Object,
    Array,
    Null,
}

fn look(kind: &AvroType) -> Look {
    match kind {
        AvroType::Boolean => Look::Boolean,
        AvroType::Int(_) | AvroType::Long(_) => Look::Whole,
        AvroType::Float | AvroType::Double => Look::Fraction,
        AvroType::Decimal { .. } => Look::Number,
        AvroType::Bytes | AvroType::String | AvroType::Fixed(_) | AvroType::Uuid(_) | AvroType::Enum(_) => {
            Look::Text
        }
        AvroType::Map(_) | AvroType::Record(_) => Look::Object,
        AvroType::Array(_) => Look::Array,
        AvroType::Null | AvroType::Nullable { .. } | AvroType::Union(_) => Look::Null,
    }
}

/// Whether no other branch has values that look like those of `kind`.
pub fn is_told_by_value(kind: &AvroType, branches: &[AvroType]) -> bool {
    let number = |look| matches!(look, Look::Whole | Look::Fraction | Look::Number);
    let own = look(kind);
    branches.iter().filter(|other| *other != kind).map(look).all(|other| {
        let both_numbers = number(own) && number(other);
        own != other && !(both_numbers && (own == Look::Number || other == Look::Number))
    })
}

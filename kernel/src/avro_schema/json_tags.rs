//! How JSON tells the branches of a union apart.
//!
//! Jackson, which writes Pulsar's JSON, writes a bare value; Avro's JSON encoding writes an object whose one
//! key names the branch (<https://avro.apache.org/docs/1.12.0/specification/#json-encoding>). Both are read. A
//! value is written bare, for Jackson's sake, where it can be read back into its branch, else with its tag.

use super::AvroType;

/// The branches by the names that tags have.
#[derive(Debug, Clone)]
pub struct BranchTags(Vec<(String, usize)>);

impl BranchTags {
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
enum JsonLook {
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

fn json_look(kind: &AvroType) -> JsonLook {
    match kind {
        AvroType::Omitted(kind) => json_look(kind),
        AvroType::Boolean => JsonLook::Boolean,
        AvroType::Int(_) | AvroType::Long(_) => JsonLook::Whole,
        // The package gives no form to the branches of such a union; text is what most forms are written as.
        AvroType::Json(_) => JsonLook::Text,
        AvroType::Float | AvroType::Double => JsonLook::Fraction,
        AvroType::Decimal(_) | AvroType::DecimalText(_) => JsonLook::Number,
        AvroType::Bytes | AvroType::String | AvroType::Fixed(_) | AvroType::Uuid(_) | AvroType::Enum(_) => {
            JsonLook::Text
        }
        AvroType::Map(_) | AvroType::Record(_) | AvroType::Reference(_) => JsonLook::Object,
        AvroType::Array(_) => JsonLook::Array,
        AvroType::Null | AvroType::Nullable { .. } | AvroType::Union(_) => JsonLook::Null,
    }
}

/// Whether no other branch has values that look like those of `kind`.
pub fn is_told_by_value(kind: &AvroType, branches: &[AvroType]) -> bool {
    let number = |json_look| matches!(json_look, JsonLook::Whole | JsonLook::Fraction | JsonLook::Number);
    let own = json_look(kind);
    branches.iter().filter(|other| *other != kind).map(json_look).all(|other| {
        let both_numbers = number(own) && number(other);
        own != other && !(both_numbers && (own == JsonLook::Number || other == JsonLook::Number))
    })
}

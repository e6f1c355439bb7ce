//! Tags of union branches in JSON.
//!
//! Pulsar's JSON is written by Jackson, which writes the value of a union without a tag (a bare value).
//! Avro's JSON encoding writes an object with one key, which is the branch's tag
//! (<https://avro.apache.org/docs/1.12.0/specification/#json-encoding>). The decoder reads both forms. The
//! encoder writes a bare value, which Jackson can read, if the value alone determines its branch. Otherwise
//! the encoder writes the tag.

use super::AvroType;

/// The tags of a union's branches.
#[derive(Debug, Clone)]
pub struct BranchTags(Vec<(String, usize)>);

impl BranchTags {
    /// Creates the tags of `branches`, which may contain null. The index of a branch does not count null.
    pub fn new(branches: &[AvroType]) -> Self {
        let members: Vec<&AvroType> = branches.iter().filter(|kind| **kind != AvroType::Null).collect();
        let full = members.iter().enumerate().map(|(i, kind)| (kind.branch_name().to_owned(), i));
        let mut names: Vec<(String, usize)> = full.collect();
        for (i, kind) in members.iter().enumerate() {
            // Some writers omit the namespace. A full name has precedence over a short name.
            let short = kind.branch_name().rsplit('.').next().unwrap_or_default();
            if !names.iter().any(|(name, _)| name == short) {
                names.push((short.to_owned(), i));
            }
        }
        Self(names)
    }

    /// Returns the index of the branch whose tag is `key`.
    pub fn branch(&self, key: &str) -> Option<usize> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, index)| *index)
    }
}

/// The JSON syntax of a type's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JsonLook {
    Boolean,
    /// A number without a point or exponent.
    Whole,
    /// A number with a point or exponent.
    Fraction,
    /// A number of any syntax.
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
        // The Python package sets no form on branches of a union with several types. Most forms are written as text.
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

/// Returns whether the JSON syntax of `kind` differs from the syntax of all other branches.
pub fn is_evident_from_value(kind: &AvroType, branches: &[AvroType]) -> bool {
    let number = |json_look| matches!(json_look, JsonLook::Whole | JsonLook::Fraction | JsonLook::Number);
    let own = json_look(kind);
    branches.iter().filter(|other| *other != kind).map(json_look).all(|other| {
        let both_numbers = number(own) && number(other);
        own != other && !(both_numbers && (own == JsonLook::Number || other == JsonLook::Number))
    })
}

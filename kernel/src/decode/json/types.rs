//! The Arrow types for reading JSON, in which logical types are plain numbers.
//!
//! The schema determines which fields are nullable; without a schema, all fields are nullable.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::defaults::default_text;
use super::unions::UnionShape;
use crate::avro_schema::{AvroField, AvroType};

/// Metadata key of a field that is a union; the value is the index of the union.
pub const UNION: &str = "union";
/// Metadata key of a field with a default; the value is the default as JSON.
pub const DEFAULT: &str = "default";
/// Metadata key of a field whose text is a number.
pub const DIGITS: &str = "digits";

/// Metadata key of a field with a special form; the value is the name of the form, see [`JsonForm`].
pub const FORM: &str = "form";

/// The converter from declared types and the schema to the types for reading. The converter also collects the
/// unions.
#[derive(Debug, Default)]
pub struct JsonTypes {
    /// Unions in the order of their indexes.
    pub unions: Vec<Arc<UnionShape>>,
}

impl JsonTypes {
    /// Returns the type for reading a record's field; `described` is the field in the schema, if it is known.
    pub fn field(&mut self, declared: &Field, described: Option<&AvroField>) -> Field {
        let field = self.value(declared, described.map(|field| &field.kind));
        let default = described.filter(|_| !field.is_nullable()).and_then(default_text);
        let Some(default) = default else { return field };
        let mut metadata = field.metadata().clone();
        metadata.insert(DEFAULT.to_owned(), default);
        field.with_metadata(metadata)
    }

    /// Returns the type for reading a field, an item, or a value of a map; `kind` is its type in the schema.
    fn value(&mut self, declared: &Field, kind: Option<&AvroType>) -> Field {
        self.member(declared, kind).with_nullable(kind.is_none_or(is_nullable))
    }

    /// Returns the same type as `value`, but always nullable, because the members of a union are nullable.
    fn member(&mut self, declared: &Field, kind: Option<&AvroType>) -> Field {
        let name = declared.name();
        if let (Some(AvroType::Union(branches)), DataType::Struct(members)) = (kind, declared.data_type())
            && let Some(kinds) = kind.map(AvroType::members).filter(|kinds| kinds.len() > 1)
        {
            let held = kinds.into_iter().filter(|kind| kind.is_held());
            let fields = members.iter().zip(held).map(|(f, kind)| self.member(f, Some(kind))).collect();
            let metadata = HashMap::from([(UNION.to_owned(), self.unions.len().to_string())]);
            self.unions.push(Arc::new(UnionShape::new(branches)));
            return Field::new(name, DataType::Struct(fields), true).with_metadata(metadata);
        }
        if let Some(AvroType::Json(form)) = kind.map(single_branch) {
            let metadata = HashMap::from([(FORM.to_owned(), form.name())]);
            return Field::new(name, form.plain().physical(), true).with_metadata(metadata);
        }
        let field = Field::new(name, self.data_type(declared.data_type(), kind.map(single_branch)), true);
        match kind.map(single_branch) {
            Some(AvroType::DecimalText(_)) => {
                field.with_metadata(HashMap::from([(DIGITS.to_owned(), String::new())]))
            }
            _ => field,
        }
    }

    fn data_type(&mut self, declared: &DataType, kind: Option<&AvroType>) -> DataType {
        match declared {
            DataType::Timestamp(_, _) | DataType::Time64(_) => DataType::Int64,
            DataType::Date32 | DataType::Time32(_) => DataType::Int32,
            DataType::LargeBinary | DataType::FixedSizeBinary(_) => DataType::Binary,
            DataType::LargeUtf8 => DataType::Utf8,
            DataType::Dictionary(_, value) => self.data_type(value, kind),
            DataType::List(item) | DataType::LargeList(item) => DataType::List(self.item(item, kind)),
            DataType::Struct(fields) => {
                let described: &[AvroField] = kind.map_or(&[], |kind| kind.fields().unwrap_or_default());
                let own = |field: &FieldRef| {
                    self.field(field, described.iter().find(|known| known.name == *field.name()))
                };
                DataType::Struct(fields.iter().map(own).collect())
            }
            DataType::Map(entries, sorted) => {
                let DataType::Struct(fields) = entries.data_type() else { return declared.clone() };
                let [key, value] = fields.as_ref() else { return declared.clone() };
                let below = if let Some(AvroType::Map(value)) = kind { Some(value.as_ref()) } else { None };
                let key = Field::new(key.name(), self.data_type(key.data_type(), None), false);
                let pair = Fields::from(vec![key, self.value(value, below)]);
                DataType::Map(Arc::new(Field::new(entries.name(), DataType::Struct(pair), false)), *sorted)
            }
            other => other.clone(),
        }
    }

    fn item(&mut self, item: &FieldRef, kind: Option<&AvroType>) -> FieldRef {
        let below = if let Some(AvroType::Array(item)) = kind { Some(item.as_ref()) } else { None };
        Arc::new(self.value(item, below))
    }
}

/// Returns the only branch of a union that is not null, or the type itself.
fn single_branch(kind: &AvroType) -> &AvroType {
    match kind.members().as_slice() {
        [only] => only,
        _ => kind,
    }
}

fn is_nullable(kind: &AvroType) -> bool {
    match kind {
        AvroType::Null | AvroType::Nullable { .. } => true,
        AvroType::Union(branches) => branches.contains(&AvroType::Null),
        _ => false,
    }
}

//! The Arrow types in which JSON is read: logical types as their bare numbers, everything nullable.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};

use super::json_unions::UnionShape;
use crate::document::{AvroField, AvroType};

/// Key of a field's metadata: which of the unions it is.
pub const UNION: &str = "union";

/// Walks declared types and the document beside each other, and collects the unions on the way.
#[derive(Debug, Default)]
pub struct JsonTypes {
    /// In the order of their number.
    pub unions: Vec<Arc<UnionShape>>,
}

impl JsonTypes {
    /// The field as it is read. `kind` describes it, where that is known.
    pub fn field(&mut self, declared: &Field, kind: Option<&AvroType>) -> Field {
        let name = declared.name();
        if let (Some(AvroType::Union(branches)), DataType::Struct(members)) = (kind, declared.data_type())
            && let Some(kinds) = kind.map(AvroType::members).filter(|kinds| kinds.len() > 1)
        {
            let fields = members.iter().zip(kinds).map(|(f, kind)| self.field(f, Some(kind))).collect();
            let metadata = HashMap::from([(UNION.to_owned(), self.unions.len().to_string())]);
            self.unions.push(Arc::new(UnionShape::new(branches)));
            return Field::new(name, DataType::Struct(fields), true).with_metadata(metadata);
        }
        Field::new(name, self.data_type(declared.data_type(), kind.map(only)), true)
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
                    let kind = described.iter().find(|known| known.name == *field.name());
                    self.field(field, kind.map(|known| &known.kind))
                };
                DataType::Struct(fields.iter().map(own).collect())
            }
            DataType::Map(entries, sorted) => {
                let DataType::Struct(fields) = entries.data_type() else { return declared.clone() };
                let [key, value] = fields.as_ref() else { return declared.clone() };
                let below = if let Some(AvroType::Map(value)) = kind { Some(value.as_ref()) } else { None };
                let key = Field::new(key.name(), self.data_type(key.data_type(), None), false);
                let pair = Fields::from(vec![key, self.field(value, below)]);
                DataType::Map(Arc::new(Field::new(entries.name(), DataType::Struct(pair), false)), *sorted)
            }
            other => other.clone(),
        }
    }

    fn item(&mut self, item: &FieldRef, kind: Option<&AvroType>) -> FieldRef {
        let below = if let Some(AvroType::Array(item)) = kind { Some(item.as_ref()) } else { None };
        Arc::new(self.field(item, below))
    }
}

/// What is left of a union with null, or of one branch.
fn only(kind: &AvroType) -> &AvroType {
    match kind.members().as_slice() {
        [only] => only,
        _ => kind,
    }
}

//! Avro schema documents, as far as they can become Arrow columns.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/>. Recursive types and unions of several non-null
//! types have no Arrow column and are refused with the path of the field.

use std::collections::HashMap;

use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;

use crate::error::{KernelError, Result};

/// One Avro type, names resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum AvroType {
    /// `null`
    Null,
    /// `boolean`
    Boolean,
    /// `int`, also date and time-millis
    Int,
    /// `long`, also timestamps and time-micros
    Long,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bytes`
    Bytes,
    /// `string`, also uuid
    String,
    /// `fixed` of so many bytes
    Fixed(i32),
    /// `decimal` on bytes, or on a fixed of so many bytes
    Decimal {
        /// Total digits, at most 38.
        precision: u8,
        /// Digits behind the point.
        scale: i8,
        /// Size of the underlying fixed; `None` on bytes.
        fixed: Option<i32>,
    },
    /// `enum`
    Enum(Vec<String>),
    /// `array`
    Array(Box<AvroType>),
    /// `map`
    Map(Box<AvroType>),
    /// `record`
    Record(Vec<AvroField>),
    /// A union of null and one other type.
    Nullable {
        /// The other type.
        inner: Box<AvroType>,
        /// Index of `null` among the branches; the other one has the other index.
        null_branch: u8,
    },
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct AvroField {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: AvroType,
}

impl AvroType {
    /// Parse a document. Raises "schema" for what is not Avro or cannot become columns.
    pub fn parse(document: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(document)
            .map_err(|e| KernelError::schema(format!("the Avro schema is not JSON: {e}")))?;
        Parser::default().parse(&value, "", "")
    }

    /// The fields, when it is a record.
    pub fn fields(&self) -> Result<&[AvroField]> {
        match self {
            Self::Record(fields) => Ok(fields),
            other => {
                Err(KernelError::schema(format!("expected a record at the top of the schema, got {other:?}")))
            }
        }
    }

    /// The Arrow type an encoder walks: numbers bare, without their logical meaning.
    pub fn physical(&self) -> DataType {
        match self {
            Self::Null => DataType::Null,
            Self::Boolean => DataType::Boolean,
            Self::Int => DataType::Int32,
            Self::Long => DataType::Int64,
            Self::Float => DataType::Float32,
            Self::Double => DataType::Float64,
            Self::Bytes => DataType::Binary,
            Self::String | Self::Enum(_) => DataType::Utf8,
            Self::Fixed(size) => DataType::FixedSizeBinary(*size),
            Self::Decimal { precision, scale, .. } => DataType::Decimal128(*precision, *scale),
            Self::Array(item) => DataType::new_list(item.physical(), true),
            Self::Map(value) => map_type(value.physical()),
            Self::Record(fields) => DataType::Struct(
                fields.iter().map(|f| Field::new(&f.name, f.kind.physical(), true)).collect(),
            ),
            Self::Nullable { inner, .. } => inner.physical(),
        }
    }

    /// Whether a value can take no bytes at all; an array of those could claim any length.
    fn may_be_empty(&self) -> bool {
        match self {
            Self::Null | Self::Fixed(0) => true,
            Self::Record(fields) => fields.iter().all(|f| f.kind.may_be_empty()),
            _ => false,
        }
    }
}

fn map_type(value: DataType) -> DataType {
    let fields =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", value, true)]);
    DataType::Map(Field::new("entries", DataType::Struct(fields), false).into(), false)
}

/// Named types already complete (`Some`) or still open (`None`: a use inside is recursion).
#[derive(Default)]
struct Parser {
    named: HashMap<String, Option<AvroType>>,
}

impl Parser {
    fn parse(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        match value {
            Value::String(name) => self.by_name(name, path, namespace),
            Value::Array(branches) => self.union(branches, path, namespace),
            Value::Object(_) => self.object(value, path, namespace),
            other => Err(refuse(path, format!("expected an Avro type, got {other}"))),
        }
    }

    fn by_name(&self, name: &str, path: &str, namespace: &str) -> Result<AvroType> {
        Ok(match name {
            "null" => AvroType::Null,
            "boolean" => AvroType::Boolean,
            "int" => AvroType::Int,
            "long" => AvroType::Long,
            "float" => AvroType::Float,
            "double" => AvroType::Double,
            "bytes" => AvroType::Bytes,
            "string" => AvroType::String,
            _ => {
                let found = self.named.get(&full_name(name, namespace)).or_else(|| self.named.get(name));
                return match found {
                    Some(Some(known)) => Ok(known.clone()),
                    Some(None) => {
                        Err(refuse(path, format!("{name} contains itself; recursive types have no columns")))
                    }
                    None => Err(refuse(path, format!("unknown Avro type {name:?}"))),
                };
            }
        })
    }

    fn union(&mut self, branches: &[Value], path: &str, namespace: &str) -> Result<AvroType> {
        let kinds = branches.iter().map(|b| self.parse(b, path, namespace)).collect::<Result<Vec<_>>>()?;
        match <[AvroType; 2]>::try_from(kinds) {
            Ok([AvroType::Null, inner]) if inner != AvroType::Null => {
                Ok(AvroType::Nullable { inner: Box::new(inner), null_branch: 0 })
            }
            Ok([inner, AvroType::Null]) if inner != AvroType::Null => {
                Ok(AvroType::Nullable { inner: Box::new(inner), null_branch: 1 })
            }
            _ => Err(refuse(path, "a union must be of null and one other type".into())),
        }
    }

    fn object(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        let logical = value.get("logicalType").and_then(Value::as_str);
        match value.get("type") {
            Some(Value::String(kind)) => match kind.as_str() {
                "record" | "error" => self.record(value, path, namespace),
                "enum" => {
                    let symbols = value.get("symbols").and_then(Value::as_array).map(Vec::as_slice);
                    let symbols = symbols.unwrap_or_default().iter().filter_map(Value::as_str);
                    let kind = AvroType::Enum(symbols.map(str::to_owned).collect());
                    self.complete(value, path, namespace, kind)
                }
                "fixed" => {
                    let size = value.get("size").and_then(Value::as_i64).and_then(|s| i32::try_from(s).ok());
                    let size = size.filter(|s| *s >= 0);
                    let size = size.ok_or_else(|| refuse(path, "fixed without a size".into()))?;
                    let kind = decimal(value, logical, Some(size), path)?.unwrap_or(AvroType::Fixed(size));
                    self.complete(value, path, namespace, kind)
                }
                "array" => {
                    let item = self.parse(&value["items"], &format!("{path}[]"), namespace)?;
                    if item.may_be_empty() {
                        return Err(refuse(path, "array items that take no bytes".into()));
                    }
                    Ok(AvroType::Array(Box::new(item)))
                }
                "map" => {
                    let item = self.parse(&value["values"], &format!("{path}{{}}"), namespace)?;
                    Ok(AvroType::Map(Box::new(item)))
                }
                "bytes" => Ok(decimal(value, logical, None, path)?.unwrap_or(AvroType::Bytes)),
                name => self.by_name(name, path, namespace),
            },
            Some(nested @ (Value::Object(_) | Value::Array(_))) => self.parse(nested, path, namespace),
            _ => Err(refuse(path, "an Avro type without \"type\"".into())),
        }
    }

    fn record(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        let name = declared_name(value, path, namespace)?;
        let inner_namespace = name.rsplit_once('.').map_or("", |(ns, _)| ns).to_owned();
        self.named.insert(name.clone(), None);
        let declared = value.get("fields").and_then(Value::as_array);
        let declared = declared.ok_or_else(|| refuse(path, "a record without fields".into()))?;
        let mut fields = Vec::with_capacity(declared.len());
        for field in declared {
            let field_name = field.get("name").and_then(Value::as_str).unwrap_or_default();
            let field_path =
                if path.is_empty() { field_name.to_owned() } else { format!("{path}.{field_name}") };
            let kind = field.get("type").unwrap_or(&Value::Null);
            // A field may carry the logical type beside a plain type name; Avro ignores it there, so do we.
            let kind = self.parse(kind, &field_path, &inner_namespace)?;
            fields.push(AvroField { name: field_name.to_owned(), kind });
        }
        let record = AvroType::Record(fields);
        self.named.insert(name, Some(record.clone()));
        Ok(record)
    }

    fn complete(&mut self, value: &Value, path: &str, namespace: &str, kind: AvroType) -> Result<AvroType> {
        self.named.insert(declared_name(value, path, namespace)?, Some(kind.clone()));
        Ok(kind)
    }
}

fn decimal(value: &Value, logical: Option<&str>, fixed: Option<i32>, path: &str) -> Result<Option<AvroType>> {
    if logical != Some("decimal") {
        return Ok(None);
    }
    let precision = value.get("precision").and_then(Value::as_u64).unwrap_or(0);
    let scale = value.get("scale").and_then(Value::as_u64).unwrap_or(0);
    if !(1..=38).contains(&precision) || scale > precision {
        return Err(refuse(path, format!("decimal({precision}, {scale}): expected a precision of 1 to 38")));
    }
    Ok(Some(AvroType::Decimal { precision: precision as u8, scale: scale as i8, fixed }))
}

fn refuse(path: &str, why: String) -> KernelError {
    let place = if path.is_empty() { "the top of the schema" } else { path };
    KernelError::schema(format!("{place}: {why}"))
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

fn declared_name(value: &Value, path: &str, namespace: &str) -> Result<String> {
    let name = value.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| refuse(path, "a named type without a name".into()))?;
    let own = value.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
    Ok(full_name(name, own))
}

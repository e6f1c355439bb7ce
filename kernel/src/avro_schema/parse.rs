//! The parser from a schema's JSON to [`AvroType`].

use std::collections::{HashMap, HashSet};

use arrow_schema::TimeUnit;
use serde_json::Value;

use crate::avro_schema::json_form::JsonForm;
use crate::avro_schema::{
    AvroField, AvroType, DecimalType, EnumType, FixedType, LogicalType, RecordType, Recursive, TypeName,
};
use crate::error::{KernelError, Result};

/// Maximum depth of nested types, without unions. The limit exists because each function over a schema is
/// recursive.
const MAX_DEPTH: usize = 128;
/// Maximum number of types after names are resolved. Names that refer to types with further names can
/// increase this number exponentially.
const MAX_TYPES: usize = 100_000;
/// Key of a node whose value from `schema/avro/column_document.py` is the node's representation in columns: "omitted" or "text".
const HELD: &str = "pyspark_pulsar";

/// A parser, and the named types that it has parsed until now.
#[derive(Default)]
pub struct Parser {
    ignores_aliases: bool,
    /// Full names of records that contain themselves.
    recursive: HashSet<String>,
    /// Map from full names to types. `None` is a type whose definition is not complete yet, so a reference to
    /// the type is recursive.
    named: HashMap<String, Option<NamedType>>,
    depth: usize,
    types: usize,
    /// Depth of the deepest type since the innermost open record began.
    deepest: usize,
    /// True if types may have a form in JSON.
    json: bool,
}

/// A complete type that other types may refer to.
struct NamedType {
    kind: AvroType,
    /// Number of types in the type, including the type itself.
    types: usize,
    /// Number of levels below the type.
    height: usize,
}

impl Parser {
    /// Creates a parser that reads the forms of values in JSON.
    pub fn for_json() -> Self {
        Self { json: true, ..Self::default() }
    }

    /// Creates a parser that ignores the aliases of types and fields.
    pub fn unaliased() -> Self {
        Self { ignores_aliases: true, ..Self::default() }
    }

    /// Returns the parsed records that contain themselves.
    pub fn recursive(mut self) -> Recursive {
        let named = &mut self.named;
        self.recursive
            .into_iter()
            .filter_map(|name| Some((name.clone(), named.remove(&name)??.kind)))
            .collect()
    }

    /// Parses the type that `value` describes, at `path` and inside `namespace`.
    pub fn parse(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        // Unions and objects around another type do not increase the depth, because the JSON's depth limit
        // covers them.
        let wraps = value.get("type").is_some_and(|inner| inner.is_object() || inner.is_array());
        let level = usize::from(!value.is_array() && !wraps);
        self.count(1, level, path)?;
        self.depth += level;
        let kind = match value {
            Value::String(name) => self.by_name(name, path, namespace),
            Value::Array(branches) => self.union(branches, path, namespace),
            Value::Object(_) => self.object(value, path, namespace),
            other => Err(refuse(path, format!("expected an Avro type, got {other}"))),
        };
        self.depth -= level;
        kind
    }

    /// Adds `types` to the number of types. The added types are nested `height` levels deep below the current
    /// type.
    fn count(&mut self, types: usize, height: usize, path: &str) -> Result<()> {
        self.types = self.types.saturating_add(types);
        self.deepest = self.deepest.max(self.depth + height);
        if self.deepest > MAX_DEPTH {
            let why = format!("expected at most {MAX_DEPTH} nested types, got more; use a flatter schema");
            return Err(refuse(path, why));
        }
        if self.types > MAX_TYPES {
            let why = format!(
                "expected at most {MAX_TYPES} types, counted again for each reference, got more; simplify the schema"
            );
            return Err(refuse(path, why));
        }
        Ok(())
    }

    fn json_form(&self, base: &str, value: &Value) -> Option<JsonForm> {
        if !self.json {
            return None;
        }
        JsonForm::from_name(base, value.get("jsonForm")?.as_str()?)
    }

    fn by_name(&mut self, name: &str, path: &str, namespace: &str) -> Result<AvroType> {
        Ok(match name {
            "null" => AvroType::Null,
            "boolean" => AvroType::Boolean,
            "int" => AvroType::Int(LogicalType::Number),
            "long" => AvroType::Long(LogicalType::Number),
            "float" => AvroType::Float,
            "double" => AvroType::Double,
            "bytes" => AvroType::Bytes,
            "string" => AvroType::String,
            _ => {
                let full = full_name(name, namespace);
                let key = if self.named.contains_key(&full) { full.as_str() } else { name };
                let weight = self.named.get(key).and_then(|named| named.as_ref());
                if let Some((types, height)) = weight.map(|known| (known.types, known.height)) {
                    self.count(types, height, path)?;
                }
                return match self.named.get(key) {
                    Some(Some(known)) => Ok(known.kind.clone()),
                    Some(None) => {
                        let key = key.to_owned();
                        self.recursive.insert(key.clone());
                        Ok(AvroType::Reference(key))
                    }
                    None => {
                        Err(refuse(path, format!("expected an Avro type, got the unknown name {name:?}")))
                    }
                };
            }
        })
    }

    fn union(&mut self, branches: &[Value], path: &str, namespace: &str) -> Result<AvroType> {
        let kinds = branches.iter().map(|b| self.parse(b, path, namespace)).collect::<Result<Vec<_>>>()?;
        for (i, kind) in kinds.iter().enumerate() {
            if matches!(kind, AvroType::Union(_) | AvroType::Nullable { .. }) {
                return Err(refuse(
                    path,
                    "expected a branch that is not a union, got a union in a union".into(),
                ));
            }
            if kinds.iter().skip(i + 1).any(|other| other.branch_name() == kind.branch_name()) {
                let why =
                    format!("expected a union with different branches, got {} twice", kind.branch_name());
                return Err(refuse(path, why));
            }
        }
        Ok(match kinds.as_slice() {
            [] | [AvroType::Null] => {
                return Err(refuse(path, "expected a union with a type besides null, got none".into()));
            }
            [AvroType::Null, inner] => AvroType::Nullable { inner: Box::new(inner.clone()), null_branch: 0 },
            [inner, AvroType::Null] => AvroType::Nullable { inner: Box::new(inner.clone()), null_branch: 1 },
            _ => AvroType::Union(kinds),
        })
    }

    fn object(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        if value.get(HELD).and_then(Value::as_str) == Some("omitted") {
            let mut head = value.clone();
            head.as_object_mut().map(|head| head.remove(HELD));
            // A separate parser is used, so that the omitted branch defines no name.
            return Ok(AvroType::Omitted(Box::new(Self::default().object(&head, path, namespace)?)));
        }
        let logical = value.get("logicalType").and_then(Value::as_str);
        match value.get("type") {
            Some(Value::String(kind)) => match kind.as_str() {
                "record" | "error" => self.record(value, path, namespace),
                "enum" => self.symbols(value, path, namespace),
                "fixed" => self.fixed(value, logical, path, namespace),
                "array" => {
                    let item = self.parse(&value["items"], &format!("{path}[]"), namespace)?;
                    Ok(AvroType::Array(Box::new(item)))
                }
                "map" => {
                    let item = self.parse(&value["values"], &format!("{path}{{}}"), namespace)?;
                    Ok(AvroType::Map(Box::new(item)))
                }
                "bytes" => Ok(decimal(value, logical, None).unwrap_or(AvroType::Bytes)),
                name => match self.json_form(name, value) {
                    Some(form) => Ok(AvroType::Json(form)),
                    None if name == "int" => Ok(AvroType::Int(int_meaning(logical))),
                    None if name == "long" => Ok(AvroType::Long(long_meaning(logical))),
                    None => self.by_name(name, path, namespace),
                },
            },
            Some(nested @ (Value::Object(_) | Value::Array(_))) => self.parse(nested, path, namespace),
            _ => Err(refuse(path, "expected an Avro type, got an object without \"type\"".into())),
        }
    }

    fn record(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        let name = self.declared_name(value, path, namespace)?;
        let inner_namespace = name.full.rsplit_once('.').map_or("", |(ns, _)| ns).to_owned();
        self.named.insert(name.full.clone(), None);
        let (types, around) = (self.types, std::mem::replace(&mut self.deepest, self.depth));
        let declared = value.get("fields").and_then(Value::as_array);
        let declared =
            declared.ok_or_else(|| refuse(path, "expected a record with fields, got none".into()))?;
        let mut fields = Vec::with_capacity(declared.len());
        for field in declared {
            let field_name = field.get("name").and_then(Value::as_str).unwrap_or_default();
            let field_path =
                if path.is_empty() { field_name.to_owned() } else { format!("{path}.{field_name}") };
            let kind = field.get("type").unwrap_or(&Value::Null);
            // A field may have a logical type next to a plain type name; Avro ignores it there.
            let kind = self.parse(kind, &field_path, &inner_namespace)?;
            let default = field.get("default").cloned();
            fields.push(AvroField {
                name: field_name.to_owned(),
                aliases: self.aliases(field),
                kind,
                default,
            });
        }
        let full = name.full.clone();
        let kind = AvroType::Record(RecordType { name, fields });
        let (types, height) = (self.types - types + 1, self.deepest - self.depth);
        self.deepest = self.deepest.max(around);
        self.named.insert(full, Some(NamedType { kind: kind.clone(), types, height }));
        Ok(kind)
    }

    fn symbols(&mut self, value: &Value, path: &str, namespace: &str) -> Result<AvroType> {
        let name = self.declared_name(value, path, namespace)?;
        let symbols = texts(value.get("symbols"));
        if symbols.is_empty() {
            return Err(refuse(path, "expected an enum with symbols, got none".into()));
        }
        let default = value.get("default").and_then(Value::as_str).map(str::to_owned);
        Ok(self.complete(&name.full.clone(), AvroType::Enum(EnumType { name, symbols, default })))
    }

    fn fixed(
        &mut self,
        value: &Value,
        logical: Option<&str>,
        path: &str,
        namespace: &str,
    ) -> Result<AvroType> {
        let size = value.get("size").and_then(Value::as_i64).and_then(|s| i32::try_from(s).ok());
        let size = size.filter(|s| *s >= 0);
        let size = size.ok_or_else(|| refuse(path, "expected a fixed with a size, got none".into()))?;
        let fixed = FixedType { name: self.declared_name(value, path, namespace)?, size };
        let full = fixed.name.full.clone();
        let kind = match decimal(value, logical, Some(&fixed)) {
            Some(decimal) => decimal,
            None if logical == Some("uuid") && size == 16 => AvroType::Uuid(fixed),
            None => AvroType::Fixed(fixed),
        };
        Ok(self.complete(&full, kind))
    }

    fn declared_name(&self, value: &Value, path: &str, namespace: &str) -> Result<TypeName> {
        let name = value.get("name").and_then(Value::as_str);
        let name =
            name.ok_or_else(|| refuse(path, "expected a named type, got one without a name".into()))?;
        let own = value.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
        let full = full_name(name, own);
        let around = full.rsplit_once('.').map_or("", |(space, _)| space);
        let aliases = self.aliases(value).iter().map(|alias| full_name(alias, around)).collect();
        Ok(TypeName { full, aliases })
    }

    fn aliases(&self, value: &Value) -> Vec<String> {
        if self.ignores_aliases { Vec::new() } else { texts(value.get("aliases")) }
    }

    fn complete(&mut self, name: &str, kind: AvroType) -> AvroType {
        self.named.insert(name.to_owned(), Some(NamedType { kind: kind.clone(), types: 1, height: 0 }));
        kind
    }
}

/// Returns the logical type of an `int`. Avro ignores logical types that are unknown or have another base
/// type.
fn int_meaning(logical: Option<&str>) -> LogicalType {
    match logical {
        Some("date") => LogicalType::Date,
        Some("time-millis") => LogicalType::TimeOfDay(TimeUnit::Millisecond),
        _ => LogicalType::Number,
    }
}

fn long_meaning(logical: Option<&str>) -> LogicalType {
    match logical {
        Some("time-micros") => LogicalType::TimeOfDay(TimeUnit::Microsecond),
        Some("timestamp-millis" | "local-timestamp-millis") => LogicalType::Moment(TimeUnit::Millisecond),
        Some("timestamp-micros" | "local-timestamp-micros") => LogicalType::Moment(TimeUnit::Microsecond),
        Some("timestamp-nanos" | "local-timestamp-nanos") => LogicalType::Moment(TimeUnit::Nanosecond),
        _ => LogicalType::Number,
    }
}

/// Returns the decimal type, or `None` if the logical type is not a valid decimal.
///
/// Avro's specification and its Java library ignore a logical type that is not valid.
fn decimal(value: &Value, logical: Option<&str>, fixed: Option<&FixedType>) -> Option<AvroType> {
    if logical != Some("decimal") {
        return None;
    }
    let digits = |key: &str| value.get(key).map(|n| n.as_u64().filter(|n| *n <= i32::MAX as u64));
    let precision = digits("precision")??;
    let scale = digits("scale").unwrap_or(Some(0))?;
    let most = fixed.map_or(u64::MAX, |fixed| max_precision(fixed.size));
    if precision < 1 || precision > most || scale > precision {
        return None;
    }
    let kind = DecimalType { precision: precision as u32, scale: scale as u32, fixed: fixed.cloned() };
    Some(match value.get(HELD).and_then(Value::as_str) {
        Some("text") => AvroType::DecimalText(kind),
        _ => AvroType::Decimal(kind),
    })
}

/// Returns the largest number of digits for which every number fits into `size` bytes.
fn max_precision(size: i32) -> u64 {
    ((8.0 * f64::from(size) - 1.0) * 2f64.log10()).floor().max(0.0) as u64
}

fn refuse(path: &str, why: String) -> KernelError {
    let place = if path.is_empty() { "the top of the schema" } else { path };
    KernelError::schema(format!("{place}: {why}"))
}

fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

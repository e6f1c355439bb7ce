//! The decoder that converts Avro payloads to columns, and resolves the schema version of each payload to the
//! reader's schema.

mod columns;
pub mod completeness;
mod cursor;
mod decimal;
pub mod default;
mod plan;
mod read;
mod resolve;
mod skip;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, FieldRef, Schema};

use crate::avro_schema::{AvroType, RecordType, Recursive};
use crate::conform::{conform, conform_type};
use crate::error::{KernelError, Result};
use crate::payload_schema::is_same_version;
use columns::AvroColumn;
use cursor::AvroCursor;
use plan::AvroPlan;
use read::read;
use resolve::record_plan;

/// The value columns of Avro messages under construction.
pub struct AvroValues {
    /// The reader's record, reduced to the fields that are columns, in the order of the columns.
    reader: RecordType,
    /// The same record without aliases, for messages whose schema equals the reader's schema.
    unaliased: RecordType,
    /// The reader's complete schema, without aliases.
    whole: AvroType,
    /// Output fields, and the Arrow type of each field in the topic's schema.
    columns: Vec<(FieldRef, DataType)>,
    values: AvroColumn,
    versions: Vec<WriterVersion>,
    /// Index in `versions` of the schema version of the last message.
    last: usize,
}

/// A schema version and the plan to read its messages.
struct WriterVersion {
    version: Vec<u8>,
    plan: AvroPlan,
    recursive: Recursive,
}

impl AvroValues {
    /// Creates the columns `output`; `value_schema` and the reader's schema must contain all of these fields.
    pub fn new(output: Vec<FieldRef>, value_schema: &Schema, reader: &str) -> Result<Self> {
        let (all, _) = record_of(reader)?;
        let whole = AvroType::parse_unaliased(reader)?;
        let mut columns = Vec::with_capacity(output.len());
        for field in output {
            let missing = || {
                KernelError::schema(format!(
                    "column {} is not in the topic's schema; check the name",
                    field.name()
                ))
            };
            let declared = value_schema.field_with_name(field.name()).map_err(|_| missing())?;
            if all.fields.iter().all(|known| known.name != *field.name()) {
                return Err(missing());
            }
            columns.push((field.clone(), declared.data_type().clone()));
        }
        let reader = with_columns(&all, &columns);
        let unaliased = match &whole {
            AvroType::Record(record) => with_columns(record, &columns),
            _ => reader.clone(),
        };
        let values = AvroColumn::new(&AvroType::Record(reader.clone()));
        Ok(Self { reader, unaliased, whole, columns, values, versions: Vec::new(), last: 0 })
    }

    /// Adds a schema version, unless the version was added before.
    pub fn add_version(&mut self, version: &[u8], avro_schema: &str) -> Result<()> {
        if self.knows(version) {
            return Ok(());
        }
        let (writer, recursive) = record_of(avro_schema)?;
        // As in Avro's Java library, aliases do not apply to messages of the reader's own schema.
        let is_same = AvroType::parse_unaliased(avro_schema)? == self.whole;
        let reader = if is_same { &self.unaliased } else { &self.reader };
        let plan = record_plan(&writer, reader, &recursive).map_err(|mismatch| {
            let why = format!("field {}: {}", mismatch.path, mismatch.why);
            KernelError::schema(format!("cannot be resolved to the reader's schema: {why}"))
        })?;
        self.versions.push(WriterVersion {
            version: version.to_vec(),
            plan: AvroPlan::Record(plan),
            recursive,
        });
        Ok(())
    }

    /// Returns whether `add_version` was already called for this version.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.iter().any(|known| known.version == version)
    }

    /// Appends the value of a message; a payload of `None` is a null value. After an error, the columns are
    /// unusable.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        let Some(payload) = payload else {
            self.values.append_null();
            return Ok(());
        };
        if self.versions.get(self.last).is_none_or(|known| !is_same_version(&known.version, version)) {
            let index = self.versions.iter().position(|known| known.version == version);
            self.last = index.ok_or_else(|| {
                KernelError::schema(format!("schema version {version:?} was not added to the decoder"))
            })?;
        }
        let Some(known) = self.versions.get(self.last) else { return Ok(()) };
        let mut cursor = AvroCursor::recursive(payload, &known.recursive);
        read(&known.plan, &mut self.values, &mut cursor).map_err(|fault| {
            let place =
                if fault.path.is_empty() { String::new() } else { format!(" in field {}", fault.path) };
            KernelError::payload(format!(
                "the bytes are not Avro of the message's schema{place}: {}",
                fault.why
            ))
        })?;
        match cursor.len() {
            0 => Ok(()),
            more => Err(KernelError::payload(format!(
                "expected the end after the Avro value, got {more} more bytes: the message does not have the schema \
                 that it names"
            ))),
        }
    }

    /// Returns the columns as Arrow arrays, and empties them for the next batch.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        let AvroColumn::Struct(values) = &mut self.values else { return Ok(Vec::new()) };
        let rows = values.finish().map_err(|e| KernelError::payload(e.to_string()))?;
        let one = |(array, (field, declared)): (&ArrayRef, &(FieldRef, DataType))| {
            conform_type(array, declared).and_then(|array| conform(&array, field)).map_err(|error| {
                let name = field.name();
                KernelError::payload(format!("the Avro does not fit its schema in field {name}: {error}"))
            })
        };
        rows.columns().iter().zip(&self.columns).map(one).collect()
    }
}

/// Returns the record, reduced to the fields that are columns, in the order of the columns.
fn with_columns(record: &RecordType, columns: &[(FieldRef, DataType)]) -> RecordType {
    let field = |(column, _): &(FieldRef, DataType)| record.fields.iter().find(|f| f.name == *column.name());
    RecordType { name: record.name.clone(), fields: columns.iter().filter_map(field).cloned().collect() }
}

fn record_of(avro_schema: &str) -> Result<(RecordType, Recursive)> {
    let (kind, recursive) = AvroType::parse_recursive(avro_schema)?;
    kind.fields()?;
    match kind {
        AvroType::Record(record) => Ok((record, recursive)),
        _ => Err(KernelError::schema("expected a record at the top of the schema, got another type")),
    }
}

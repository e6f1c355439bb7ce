//! The decoder from Protobuf payloads to columns.
//!
//! The plan of the query's own schema reads the messages of every version, because fields have numbers, and unknown
//! fields are skipped. A version is only checked for fields whose bytes would have another meaning.

mod bytes;
pub mod completeness;
mod cursor;
mod leaf;
mod list;
mod message;
mod node;
mod nulls;
mod time;

use std::collections::HashSet;

use arrow_array::ArrayRef;
use arrow_schema::FieldRef;

use crate::conform::conform;
use crate::error::{KernelError, Result};
use crate::protobuf::ProtobufPlan;
use cursor::{ProtobufCursor, ProtobufFault};
use message::MessageColumn;

/// The value columns of Protobuf messages under construction.
pub struct ProtobufValues {
    plan: ProtobufPlan,
    columns: Vec<FieldRef>,
    root: MessageColumn,
    rows: usize,
    versions: HashSet<Vec<u8>>,
}

impl ProtobufValues {
    /// Creates the columns `output`, which must all be fields of the plan's first message.
    pub fn new(output: Vec<FieldRef>, definition: &str) -> Result<Self> {
        let plan = ProtobufPlan::parse(definition)?;
        let fields = &plan.root()?.fields;
        if let Some(unknown) = output.iter().find(|column| fields.iter().all(|f| f.name != *column.name())) {
            return Err(KernelError::schema(format!(
                "column {} is not in the topic's schema; check the name",
                unknown.name()
            )));
        }
        let is_column = |name: &str| output.iter().any(|column| column.name() == name);
        let root = MessageColumn::with_fields(&plan, plan.root()?, 0, |field| is_column(&field.name))?;
        Ok(Self { plan, columns: output, root, rows: 0, versions: HashSet::new() })
    }

    /// Returns whether `add_version` was already called for this version.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.contains(version)
    }

    /// Checks that messages of a version can be read; does nothing if the version is known.
    pub fn add_version(&mut self, version: &[u8], definition: &str) -> Result<()> {
        if !self.knows(version) {
            self.plan.check_reads(&ProtobufPlan::parse(definition)?)?;
            self.versions.insert(version.to_vec());
        }
        Ok(())
    }

    /// Appends the value of a message; a payload of `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>, version: &[u8]) -> Result<()> {
        let row = self.rows;
        match payload {
            None => self.root.push_null(),
            Some(_) if !self.knows(version) => {
                return Err(KernelError::schema(format!(
                    "schema version {version:?} was not added to the decoder"
                )));
            }
            Some(payload) => {
                self.root
                    .read(row, &mut ProtobufCursor::new(payload))
                    .map_err(|fault| payload_error(&fault))?;
                self.root.end_row(row).map_err(KernelError::payload)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns the columns as Arrow arrays, and empties them for the next batch.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.rows = 0;
        self.root.restart();
        let mut out = Vec::with_capacity(self.columns.len());
        for field in &self.columns {
            let array = self.root.finish_field(field.name())?;
            out.push(conform(&array, field).map_err(|e| KernelError::payload(e.to_string()))?);
        }
        Ok(out)
    }
}

fn payload_error(fault: &ProtobufFault) -> KernelError {
    let field = if fault.path.is_empty() { String::new() } else { format!("field {}, ", fault.path) };
    KernelError::payload(format!(
        "the bytes are not Protobuf of the message's schema: {field}byte {}: {}",
        fault.position, fault.why
    ))
}

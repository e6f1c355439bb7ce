//! Protobuf payloads to columns.
//!
//! The plan of the query's own schema reads every message, whatever version wrote it: a field is known by
//! its number, and what is not known is passed over. Versions are only checked for fields whose bytes would
//! be taken for something else.

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
    /// `output` fields must all be fields of the plan's first message.
    pub fn new(output: Vec<FieldRef>, definition: &str) -> Result<Self> {
        let plan = ProtobufPlan::parse(definition)?;
        let fields = &plan.root()?.fields;
        if let Some(unknown) = output.iter().find(|column| fields.iter().all(|f| f.name != *column.name())) {
            return Err(KernelError::schema(format!(
                "column {} is not in the topic's schema",
                unknown.name()
            )));
        }
        let is_column = |name: &str| output.iter().any(|column| column.name() == name);
        let root = MessageColumn::with_fields(&plan, plan.root()?, 0, |field| is_column(&field.name))?;
        Ok(Self { plan, columns: output, root, rows: 0, versions: HashSet::new() })
    }

    /// Whether `add_version` was called with it.
    pub fn knows(&self, version: &[u8]) -> bool {
        self.versions.contains(version)
    }

    /// Check that messages of a version can be read. The same version again is ignored.
    pub fn add_version(&mut self, version: &[u8], definition: &str) -> Result<()> {
        if !self.knows(version) {
            self.plan.check_reads(&ProtobufPlan::parse(definition)?)?;
            self.versions.insert(version.to_vec());
        }
        Ok(())
    }

    /// Add one message; `None` is a null value.
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
                self.root.read(row, &mut ProtobufCursor::new(payload)).map_err(|fault| refused(&fault))?;
                self.root.end_row(row).map_err(KernelError::payload)?;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The columns so far; starts new ones.
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

fn refused(fault: &ProtobufFault) -> KernelError {
    let field = if fault.path.is_empty() { String::new() } else { format!("field {}, ", fault.path) };
    KernelError::payload(format!("not Protobuf of its schema: {field}byte {}: {}", fault.position, fault.why))
}

//! Values of Pulsar's primitive schemas, as its Java client writes them: big endian, strings as UTF-8.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Float32Builder, Float64Builder, Int8Builder, Int16Builder, Int32Builder,
    Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType;

use crate::error::{KernelError, Result};

/// One column of primitive values under construction.
#[derive(Debug)]
pub enum PrimitiveValues {
    /// "bytes"
    Bytes(BinaryBuilder),
    /// "string"
    String(StringBuilder),
    /// "boolean"
    Boolean(BooleanBuilder),
    /// "int8"
    Int8(Int8Builder),
    /// "int16"
    Int16(Int16Builder),
    /// "int32"
    Int32(Int32Builder),
    /// "int64"
    Int64(Int64Builder),
    /// "float"
    Float(Float32Builder),
    /// "double"
    Double(Float64Builder),
    /// The value is not among the output columns: only counted.
    Skipped(usize),
}

/// The Arrow type a primitive schema decodes to; `None` for a name that is not one.
pub fn physical_type(value_type: &str) -> Option<DataType> {
    Some(match value_type {
        "bytes" => DataType::Binary,
        "string" => DataType::Utf8,
        "boolean" => DataType::Boolean,
        "int8" => DataType::Int8,
        "int16" => DataType::Int16,
        "int32" => DataType::Int32,
        "int64" => DataType::Int64,
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        _ => return None,
    })
}

impl PrimitiveValues {
    /// For a name that [`physical_type`] knows; `None` for others.
    pub fn new(value_type: &str) -> Option<Self> {
        Some(match value_type {
            "bytes" => Self::Bytes(BinaryBuilder::new()),
            "string" => Self::String(StringBuilder::new()),
            "boolean" => Self::Boolean(BooleanBuilder::new()),
            "int8" => Self::Int8(Int8Builder::new()),
            "int16" => Self::Int16(Int16Builder::new()),
            "int32" => Self::Int32(Int32Builder::new()),
            "int64" => Self::Int64(Int64Builder::new()),
            "float" => Self::Float(Float32Builder::new()),
            "double" => Self::Double(Float64Builder::new()),
            _ => return None,
        })
    }

    /// Add one message; `None` is a null value.
    pub fn append(&mut self, payload: Option<&[u8]>) -> Result<()> {
        match self {
            Self::Bytes(b) => b.append_option(payload),
            Self::String(b) => b.append_option(payload.map(text).transpose()?),
            Self::Boolean(b) => b.append_option(payload.map(boolean).transpose()?),
            Self::Int8(b) => b.append_option(payload.map(exact).transpose()?.map(i8::from_be_bytes)),
            Self::Int16(b) => b.append_option(payload.map(exact).transpose()?.map(i16::from_be_bytes)),
            Self::Int32(b) => b.append_option(payload.map(exact).transpose()?.map(i32::from_be_bytes)),
            Self::Int64(b) => b.append_option(payload.map(exact).transpose()?.map(i64::from_be_bytes)),
            Self::Float(b) => b.append_option(payload.map(exact).transpose()?.map(f32::from_be_bytes)),
            Self::Double(b) => b.append_option(payload.map(exact).transpose()?.map(f64::from_be_bytes)),
            Self::Skipped(rows) => *rows += 1,
        }
        Ok(())
    }

    /// The column so far; starts a new one.
    pub fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bytes(b) => Arc::new(b.finish()),
            Self::String(b) => Arc::new(b.finish()),
            Self::Boolean(b) => Arc::new(b.finish()),
            Self::Int8(b) => Arc::new(b.finish()),
            Self::Int16(b) => Arc::new(b.finish()),
            Self::Int32(b) => Arc::new(b.finish()),
            Self::Int64(b) => Arc::new(b.finish()),
            Self::Float(b) => Arc::new(b.finish()),
            Self::Double(b) => Arc::new(b.finish()),
            Self::Skipped(rows) => new_null_array(&DataType::Null, std::mem::take(rows)),
        }
    }
}

fn text(payload: &[u8]) -> Result<&str> {
    std::str::from_utf8(payload).map_err(|e| KernelError::payload(format!("expected UTF-8 text: {e}")))
}

fn boolean(payload: &[u8]) -> Result<bool> {
    exact::<1>(payload).map(|[byte]| byte != 0)
}

fn exact<const N: usize>(payload: &[u8]) -> Result<[u8; N]> {
    payload.try_into().map_err(|_| {
        KernelError::payload(format!("expected {N} bytes for the schema's type, got {}", payload.len()))
    })
}

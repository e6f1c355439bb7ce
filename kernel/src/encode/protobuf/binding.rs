//! Arrow columns bound to the Protobuf fields of their written values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DurationMicrosecondArray, Float32Array,
    Float64Array, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray,
    TimestampMicrosecondArray,
};

use crate::error::{KernelError, Result};
use crate::protobuf::names::EnumNames;
use crate::protobuf::{FieldPlan, Kind, Meaning, MessagePlan, ProtobufPlan, Shape, wrapped};

/// The columns of a message.
#[derive(Debug)]
pub struct MessageWriter {
    /// The fields with a column, in ascending order of their numbers.
    pub fields: Vec<FieldWriter>,
    /// The names of oneofs, and the indices of their members in `fields`.
    pub oneofs: Vec<(String, Vec<usize>)>,
}

/// A field and its column.
#[derive(Debug)]
pub struct FieldWriter {
    /// The name of the field, for errors.
    pub name: String,
    /// The number on the wire.
    pub number: u32,
    /// The number of times that the field can occur.
    pub shape: Shape,
    /// True if a list is written as one field.
    pub packed: bool,
    /// The field's values.
    pub column: ProtobufColumn,
}

/// A column, or the values below a column.
#[derive(Debug)]
#[allow(missing_docs)] // The variants are the types of a field in the plan.
pub enum ProtobufColumn {
    Scalar(Scalar),
    Wrapped(Scalar),
    Timestamp(TimestampMicrosecondArray),
    Duration(DurationMicrosecondArray),
    Message(StructArray, Box<MessageWriter>),
    Group(StructArray, Box<MessageWriter>),
    List(ListArray, Box<ProtobufColumn>),
    Map(MapArray, Box<Scalar>, Box<ProtobufColumn>),
}

/// A scalar column, by its wire format.
#[derive(Debug)]
#[allow(missing_docs)] // The names are similar to those in descriptor.proto.
pub enum Scalar {
    Int32(Int32Array),
    ZigZag32(Int32Array),
    SFixed32(Int32Array),
    Int64(Int64Array),
    ZigZag64(Int64Array),
    SFixed64(Int64Array),
    UInt32(Int64Array),
    Fixed32(Int64Array),
    UInt64(Decimal128Array),
    Fixed64(Decimal128Array),
    Float(Float32Array),
    Double(Float64Array),
    Bool(BooleanArray),
    Text(StringArray),
    Binary(BinaryArray),
    Names(StringArray, Arc<EnumNames>),
}

impl MessageWriter {
    /// Binds a message. `column` returns the values of a field in the type of [`ProtobufPlan::arrow_type`],
    /// or `None` if the field is not written.
    pub fn new(
        plan: &ProtobufPlan,
        message: &MessagePlan,
        column: impl Fn(&FieldPlan) -> Result<Option<ArrayRef>>,
    ) -> Result<Self> {
        let mut ordered: Vec<&FieldPlan> = message.fields.iter().collect();
        ordered.sort_by_key(|field| field.number);
        let mut fields = Vec::new();
        let mut members = vec![Vec::new(); message.oneofs.len()];
        for field in ordered {
            let Some(array) = column(field)? else {
                if field.shape == Shape::Required {
                    return Err(KernelError::schema(format!(
                        "field {}: expected a column, because the field is required, got none",
                        field.name
                    )));
                }
                continue;
            };
            if let Some(group) = field.oneof.and_then(|index| members.get_mut(index)) {
                group.push(fields.len());
            }
            fields.push(FieldWriter {
                name: field.name.clone(),
                number: field.number,
                shape: field.shape,
                packed: field.packed,
                column: ProtobufColumn::new(plan, field, &array)?,
            });
        }
        let oneofs = message.oneofs.iter().cloned().zip(members).filter(|(_, m)| m.len() > 1).collect();
        Ok(Self { fields, oneofs })
    }
}

impl ProtobufColumn {
    fn new(plan: &ProtobufPlan, field: &FieldPlan, array: &ArrayRef) -> Result<Self> {
        let expected = plan.arrow_type(field)?;
        if array.data_type() != &expected {
            let got = array.data_type();
            return Err(KernelError::schema(format!("field {}: expected {expected}, got {got}", field.name)));
        }
        Ok(match field.shape {
            Shape::Repeated => {
                let list = array.as_list::<i32>();
                Self::List(list.clone(), Box::new(Self::item(plan, field, list.values())?))
            }
            Shape::Map => {
                let (key, value) = plan.entry(field)?;
                let map = array.as_map();
                let values = Self::item(plan, value, map.values())?;
                let keys = Box::new(Scalar::new(plan, key, map.keys())?);
                Self::Map(map.clone(), keys, Box::new(values))
            }
            _ => Self::item(plan, field, array)?,
        })
    }

    fn item(plan: &ProtobufPlan, field: &FieldPlan, array: &ArrayRef) -> Result<Self> {
        let (Kind::Message(index) | Kind::Group(index)) = field.kind else {
            return Ok(Self::Scalar(Scalar::new(plan, field, array)?));
        };
        let message = plan.message(index)?;
        Ok(match message.meaning {
            Meaning::Timestamp => Self::Timestamp(array.as_primitive::<TimestampMicrosecondType>().clone()),
            Meaning::Duration => Self::Duration(array.as_primitive::<DurationMicrosecondType>().clone()),
            Meaning::Wrapper => Self::Wrapped(Scalar::new(plan, wrapped(message)?, array)?),
            Meaning::Struct => {
                let record = array.as_struct();
                let columns = |field: &FieldPlan| Ok(record.column_by_name(&field.name).cloned());
                let writer = Box::new(MessageWriter::new(plan, message, columns)?);
                match field.kind {
                    Kind::Group(_) => Self::Group(record.clone(), writer),
                    _ => Self::Message(record.clone(), writer),
                }
            }
        })
    }

    /// Returns whether the value in `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Scalar(a) | Self::Wrapped(a) => a.is_null(row),
            Self::Timestamp(a) => a.is_null(row),
            Self::Duration(a) => a.is_null(row),
            Self::Message(a, _) | Self::Group(a, _) => a.is_null(row),
            Self::List(a, _) => a.is_null(row),
            Self::Map(a, _, _) => a.is_null(row),
        }
    }
}

impl Scalar {
    /// Binds `array`, which must have the type in the plan.
    fn new(plan: &ProtobufPlan, field: &FieldPlan, array: &ArrayRef) -> Result<Self> {
        let int = || array.as_primitive::<Int32Type>().clone();
        let long = || array.as_primitive::<Int64Type>().clone();
        let decimal = || array.as_primitive::<Decimal128Type>().clone();
        Ok(match field.kind {
            Kind::Int32 | Kind::EnumNumber => Self::Int32(int()),
            Kind::SInt32 => Self::ZigZag32(int()),
            Kind::SFixed32 => Self::SFixed32(int()),
            Kind::Int64 => Self::Int64(long()),
            Kind::SInt64 => Self::ZigZag64(long()),
            Kind::SFixed64 => Self::SFixed64(long()),
            Kind::UInt32 => Self::UInt32(long()),
            Kind::Fixed32 => Self::Fixed32(long()),
            Kind::UInt64 => Self::UInt64(decimal()),
            Kind::Fixed64 => Self::Fixed64(decimal()),
            Kind::Float => Self::Float(array.as_primitive::<Float32Type>().clone()),
            Kind::Double => Self::Double(array.as_primitive::<Float64Type>().clone()),
            Kind::Bool => Self::Bool(array.as_boolean().clone()),
            Kind::String => Self::Text(array.as_string::<i32>().clone()),
            Kind::Bytes | Kind::Opaque => Self::Binary(array.as_binary::<i32>().clone()),
            Kind::Enum(index) => Self::Names(array.as_string::<i32>().clone(), plan.names(index)?.clone()),
            Kind::Message(_) | Kind::Group(_) => {
                return Err(KernelError::schema(format!("field {}: expected a scalar", field.name)));
            }
        })
    }

    /// Returns the wire type of a value.
    #[inline]
    pub fn wire(&self) -> u32 {
        use crate::protobuf::{DELIMITED, FIXED32, FIXED64, VARINT};
        match self {
            Self::SFixed32(_) | Self::Fixed32(_) | Self::Float(_) => FIXED32,
            Self::SFixed64(_) | Self::Fixed64(_) | Self::Double(_) => FIXED64,
            Self::Text(_) | Self::Binary(_) => DELIMITED,
            _ => VARINT,
        }
    }

    /// Returns whether the value in `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Int32(a) | Self::ZigZag32(a) | Self::SFixed32(a) => a.is_null(row),
            Self::Int64(a) | Self::ZigZag64(a) | Self::SFixed64(a) => a.is_null(row),
            Self::UInt32(a) | Self::Fixed32(a) => a.is_null(row),
            Self::UInt64(a) | Self::Fixed64(a) => a.is_null(row),
            Self::Float(a) => a.is_null(row),
            Self::Double(a) => a.is_null(row),
            Self::Bool(a) => a.is_null(row),
            Self::Text(a) | Self::Names(a, _) => a.is_null(row),
            Self::Binary(a) => a.is_null(row),
        }
    }
}

//! The plan to read messages of one version, which `resolve` creates and `read` follows.

use crate::avro_schema::AvroType;

/// The conversion from bytes of the writer to a value of the reader.
///
/// A plan that has the name of an Avro type reads values of this type. The column determines the type of the
/// result.
#[derive(Debug, Clone)]
pub enum AvroPlan {
    /// Read no bytes, and append a null
    Null,
    /// `boolean`
    Boolean,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `int` or `long` in another unit than the unit of the reader
    Rescaled(Rescale),
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bytes` and `string`
    Bytes,
    /// `fixed` with this number of bytes
    Fixed(usize),
    /// `decimal` on `fixed` or `bytes`
    Decimal(DecimalPlan),
    /// `enum`: for each symbol of the writer, the symbol of the reader, or the reason why none exists
    Enum(Vec<Result<String, String>>),
    /// `array`
    Array(Box<AvroPlan>),
    /// `map`
    Map(Box<AvroPlan>),
    /// `record`
    Record(RecordPlan),
    /// A union in the writer's schema, with one plan for each branch
    Union(Vec<AvroPlan>),
    /// The member of the reader's union that has this index
    Member(usize, Box<AvroPlan>),
    /// Skip a value of a type that no column can contain, and append a null
    Skipped(AvroType),
    /// The digits of a decimal as text
    DecimalText(DecimalTextPlan),
    /// Return an error for a value of a branch that the reader cannot read
    Refused(Box<Mismatch>),
    /// The reader's default, encoded with the reader's own schema
    Default(Vec<u8>, Box<AvroPlan>),
}

/// A conversion of units: `value * multiply / divide`.
#[derive(Debug, Clone, Copy)]
pub struct Rescale {
    /// Number by which the value is multiplied.
    pub multiply: i64,
    /// Number by which the product is divided; the quotient is rounded down, towards the past.
    pub divide: i64,
}

/// The conversion from a decimal of the writer to a decimal of the reader.
#[derive(Debug, Clone, Copy)]
pub struct DecimalPlan {
    /// Number of bytes if the Avro type is `fixed`; `None` if the type is `bytes`.
    pub fixed: Option<usize>,
    /// Factor for the unscaled value.
    pub factor: i128,
    /// Upper bound of the unscaled value, exclusive.
    pub limit: i128,
}

/// The conversion from a decimal of the writer to text.
#[derive(Debug, Clone, Copy)]
pub struct DecimalTextPlan {
    /// Number of bytes if the Avro type is `fixed`; `None` if the type is `bytes`.
    pub fixed: Option<usize>,
    /// Number of digits after the decimal point.
    pub scale: usize,
    /// Maximum number of bytes of a value; the time of the conversion grows with the square of this number.
    pub max_bytes: usize,
}

/// The plan of a record.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// Steps for the writer's fields, in the writer's order.
    pub steps: Vec<FieldStep>,
    /// Index and plan of each reader's field that the writer's schema lacks.
    pub absent: Vec<(usize, AvroPlan)>,
}

/// The step for a field of the writer.
#[derive(Debug, Clone)]
pub enum FieldStep {
    /// Read the value into the reader's field that has this index.
    Read(usize, String, AvroPlan),
    /// Skip the value, because the reader has no such field.
    Skip(String, AvroType),
}

/// The reason why a schema cannot be read as another schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Path of the type: the names of its fields, from the outermost to the innermost.
    pub path: String,
    /// Types of the writer and the reader, as text.
    pub why: String,
}

impl Mismatch {
    /// Prepends the field, item or value `step` to the path.
    pub fn below(mut self: Box<Self>, step: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with(['[', '{']) { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

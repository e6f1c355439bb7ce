//! How a message of one version is read, step by step; made by `resolve`, followed by `read`.

use crate::avro_schema::AvroType;

/// How bytes of the writer become a value of the reader.
#[derive(Debug, Clone)]
pub enum AvroPlan {
    /// No bytes, a null.
    Null,
    /// As Avro's type of that name lies in bytes; the column says what it becomes.
    Boolean,
    /// `int`
    Int,
    /// `long`
    Long,
    /// `int` or `long` in another unit than the reader's
    Rescaled(Rescale),
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bytes` and `string`
    Bytes,
    /// `fixed` of so many bytes
    Fixed(usize),
    /// Unscaled value on a fixed of so many bytes, or on bytes
    Decimal(DecimalPlan),
    /// For each symbol of the writer the reader's, or why there is none
    Enum(Vec<Result<String, String>>),
    /// `array`
    Array(Box<AvroPlan>),
    /// `map`
    Map(Box<AvroPlan>),
    /// `record`
    Record(RecordPlan),
    /// A union of the writer: a plan for each branch
    Union(Vec<AvroPlan>),
    /// A member of the reader's union
    Member(usize, Box<AvroPlan>),
    /// A value that the reader has no place for: a null
    Skipped(AvroType),
    /// The digits of a decimal as text
    DecimalText(DecimalTextPlan),
    /// A value that is here is an error.
    Refused(Box<Mismatch>),
    /// The reader's default: bytes of the reader's own schema
    Default(Vec<u8>, Box<AvroPlan>),
}

/// `value * multiply / divide`
#[derive(Debug, Clone, Copy)]
pub struct Rescale {
    /// Factor.
    pub multiply: i64,
    /// Divisor; what is lost is cut, towards the past.
    pub divide: i64,
}

/// A decimal of the writer as one of the reader.
#[derive(Debug, Clone, Copy)]
pub struct DecimalPlan {
    /// Bytes of the fixed it lies in.
    pub fixed: Option<usize>,
    /// What the unscaled value is multiplied with.
    pub factor: i128,
    /// One more than the largest unscaled value.
    pub limit: i128,
}

/// A decimal of the writer as text.
#[derive(Debug, Clone, Copy)]
pub struct DecimalTextPlan {
    /// Bytes of the fixed it is in.
    pub fixed: Option<usize>,
    /// Digits after the point.
    pub scale: usize,
    /// Most bytes of a value: the time that digits take grows with their square.
    pub max_bytes: usize,
}

/// Fields in the order of the writer, then those that it lacks.
#[derive(Debug, Clone)]
pub struct RecordPlan {
    /// In the order of the writer.
    pub steps: Vec<FieldStep>,
    /// Index among the reader's fields, and what fills it.
    pub absent: Vec<(usize, AvroPlan)>,
}

/// What happens to a field of the writer.
#[derive(Debug, Clone)]
pub enum FieldStep {
    /// Into the reader's field of that index.
    Read(usize, String, AvroPlan),
    /// The reader does not want it.
    Skip(String, AvroType),
}

/// Why a schema cannot be read as another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Field names, outermost first.
    pub path: String,
    /// What the writer has and what the reader expects.
    pub why: String,
}

impl Mismatch {
    /// Below the field, item or value `step`.
    pub fn below(mut self: Box<Self>, step: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with(['[', '{']) { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

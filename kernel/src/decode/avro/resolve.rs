//! Avro's schema resolution, which creates one plan for each schema version: how to read the writer's schema
//! as the reader's schema.
//!
//! The rules are in <https://avro.apache.org/docs/1.12.0/specification/#schema-resolution>. If the
//! specification permits several results, the result is the same as in Avro's Java library.
//!
//! A message names a schema version, and this version is the writer's schema of its Avro bytes. The bytes
//! contain no types, so only the writer's schema determines the end of each value. The columns have the types
//! of the reader's schema.
//!
//! The resolver compares both schemas and creates an [`AvroPlan`]: one step for each value of the writer, in the
//! writer's order. `read` follows the plan for every message, and needs no schema.
//!
//! # Compatible types
//!
//! Each line contains the writer's type, the reader's type, and the plan:
//!
//! * union -> any type: a plan for each branch, chosen by the branch number in the bytes
//! * null -> nullable type: a null
//! * any other type -> union: the plan of the branch that `branch_for` chooses
//! * record -> record: fields by the reader's aliases or by name, see below
//! * enum -> enum: by symbol; an unknown symbol is the reader's default, or an error
//! * array -> array, map -> map: a plan for the items or values
//! * fixed -> fixed: the bytes, if size and name match
//! * int -> long, float or double: promotion; also long -> float or double, and float -> double
//! * bytes -> string, string -> bytes: the same bytes; a string must be UTF-8
//! * time of day -> time of day, moment -> moment: the reader's unit, rounded down towards the past
//! * decimal -> decimal: the reader's scale, which must not be smaller
//!
//! Any other pair of types is a [`Mismatch`] that contains the path of the field.
//!
//! Each field of a writer's record is read into the matching field of the reader. A field without a matching
//! field is skipped. A field of the reader without a matching field gets its default. The module `default`
//! encodes the default with the reader's own schema, so that the default is read like other values. If the
//! field has no default, the field must be nullable, and its value is null.
//!
//! # Errors
//!
//! A mismatch makes the whole version unreadable, because every message would fail. Two mismatches are
//! exceptions, which concern only messages with such a value:
//!
//! * A branch of the writer's union that the reader cannot read ([`AvroPlan::Refused`]). If the reader can
//!   read only null, the whole version is unreadable.
//! * A symbol that the reader's enum lacks.
//!
//! # Differences from the specification
//!
//! * Different producers of a topic may have their classes in different packages. So records match by their
//!   fields and not by their names, and the names of enums and fixed match without their namespace.
//! * Times and decimals are converted to the reader's unit or scale, but Avro would read the numbers
//!   unchanged. A number without a logical type gets the logical type of the other schema.
//! * A nullable field that the writer lacks needs no default.
//!
//! # Termination
//!
//! The reader's schema is a tree of limited depth, which `schema/avro/column_document.py` guarantees. A writer's record may
//! contain itself, but each step into a record of the writer is also a step into a record of the reader.

use super::default::encode_default;
use super::plan::{AvroPlan, DecimalPlan, DecimalTextPlan, FieldStep, Mismatch, RecordPlan, Rescale};
use crate::avro_schema::{
    AvroField, AvroType, DecimalType, EnumType, FixedType, LogicalType, RecordType, Recursive, TypeName,
};
use crate::conform::per_second;

/// Largest number of digits of a decimal that is read as text.
const MAX_TEXT_DIGITS: usize = 1000;

type Resolved = Result<AvroPlan, Box<Mismatch>>;

/// Returns the plan to read `writer` as `reader`.
///
/// `recursive` are the records of the writer that contain themselves. The reader must not have such records.
pub fn record_plan(
    writer: &RecordType,
    reader: &RecordType,
    recursive: &Recursive,
) -> Result<RecordPlan, Box<Mismatch>> {
    Resolver { recursive }.record(writer, reader)
}

struct Resolver<'a> {
    recursive: &'a Recursive,
}

impl Resolver<'_> {
    fn resolve(&self, writer: &AvroType, reader: &AvroType) -> Resolved {
        match (writer, reader) {
            (AvroType::Reference(name), _) => match self.recursive.get(name) {
                Some(record) => self.resolve(record, reader),
                None => Err(mismatch(writer, reader)),
            },
            // The reader's default belongs to a branch of the reader's union that has no column.
            (AvroType::Omitted(_), _) => Ok(AvroPlan::Skipped(writer.clone())),
            (AvroType::Nullable { inner, null_branch }, _) => {
                let branches =
                    if *null_branch == 0 { [&AvroType::Null, inner] } else { [inner, &AvroType::Null] };
                self.union_plan(&branches, reader)
            }
            (AvroType::Union(branches), _) => self.union_plan(&branches.iter().collect::<Vec<_>>(), reader),
            (AvroType::Null, AvroType::Nullable { .. }) => Ok(AvroPlan::Null),
            (_, AvroType::Nullable { inner, .. }) => self.resolve(writer, inner),
            (AvroType::Null, AvroType::Union(branches)) if branches.contains(&AvroType::Null) => {
                Ok(AvroPlan::Null)
            }
            (_, AvroType::Union(_)) => self.member_plan(writer, reader),
            (AvroType::Array(item), AvroType::Array(_)) if item.may_be_empty() => {
                Err(mismatch_because("expected array items with at least one byte, got items without bytes"))
            }
            (AvroType::Array(item), AvroType::Array(reader_item)) => {
                Ok(AvroPlan::Array(Box::new(self.resolve(item, reader_item).map_err(|e| e.below("[]"))?)))
            }
            (AvroType::Map(value), AvroType::Map(reader_value)) => {
                Ok(AvroPlan::Map(Box::new(self.resolve(value, reader_value).map_err(|e| e.below("{}"))?)))
            }
            (AvroType::Record(written), AvroType::Record(read)) => {
                self.record(written, read).map(AvroPlan::Record)
            }
            (AvroType::Enum(written), AvroType::Enum(read)) if read.name.accepts(&written.name) => {
                Ok(AvroPlan::Enum(written.symbols.iter().map(|symbol| read_symbol(symbol, read)).collect()))
            }
            _ => leaf_plan(writer, reader),
        }
    }

    fn union_plan(&self, branches: &[&AvroType], reader: &AvroType) -> Resolved {
        let plans: Vec<_> = branches.iter().map(|branch| self.resolve(branch, reader)).collect();
        // If the reader can read only null, the schemas have nothing in common.
        let mut members = branches.iter().zip(&plans).filter(|(branch, _)| **branch != &AvroType::Null);
        if let Some((_, Err(why))) = members.clone().next().filter(|_| members.all(|(_, plan)| plan.is_err()))
        {
            return Err(why.clone());
        }
        Ok(AvroPlan::Union(plans.into_iter().map(|plan| plan.unwrap_or_else(AvroPlan::Refused)).collect()))
    }

    /// Returns the plan for a branch of the reader's union, which reads null if the branch has no column.
    fn member_plan(&self, writer: &AvroType, reader: &AvroType) -> Resolved {
        let members = reader.members();
        let chosen = self.branch_for(writer, &members).and_then(|index| Some((index, *members.get(index)?)));
        let Some((index, member)) = chosen else { return Err(mismatch(writer, reader)) };
        if matches!(member, AvroType::Omitted(_)) {
            return Ok(AvroPlan::Skipped(writer.clone()));
        }
        let plan = self.resolve(writer, member)?;
        let column = members.iter().take(index).filter(|member| member.is_held()).count();
        Ok(if members.len() == 1 { plan } else { AvroPlan::Member(column, Box::new(plan)) })
    }

    /// Returns the plan of a record, whose fields match by alias or name.
    fn record(&self, writer: &RecordType, reader: &RecordType) -> Result<RecordPlan, Box<Mismatch>> {
        let sources = sources(writer, reader);
        let mut steps = Vec::with_capacity(writer.fields.len());
        for (i, own) in writer.fields.iter().enumerate() {
            let target = sources.iter().position(|source| *source == Some(i));
            steps.push(match target.and_then(|index| Some((index, reader.fields.get(index)?))) {
                Some((index, field)) => {
                    let plan = self.resolve(&own.kind, &field.kind).map_err(|e| e.below(&own.name))?;
                    FieldStep::Read(index, own.name.clone(), plan)
                }
                None => FieldStep::Skip(own.name.clone(), own.kind.clone()),
            });
        }
        let lacking = reader.fields.iter().enumerate().zip(&sources).filter(|(_, source)| source.is_none());
        let absent = lacking
            .map(|((i, field), _)| Ok((i, self.default_plan(field).map_err(|e| e.below(&field.name))?)));
        Ok(RecordPlan { steps, absent: absent.collect::<Result<_, Box<Mismatch>>>()? })
    }

    fn default_plan(&self, field: &AvroField) -> Resolved {
        let Some(default) = &field.default else {
            let nullable = self.resolve(&AvroType::Null, &field.kind);
            return nullable.map_err(|_| {
                mismatch_because(
                    "the writer's schema lacks the field, and the reader's schema has no default for the field",
                )
            });
        };
        let mut bytes = Vec::new();
        encode_default(&field.kind, default, &mut bytes).map_err(mismatch_because)?;
        Ok(AvroPlan::Default(bytes, Box::new(self.resolve(&field.kind, &field.kind)?)))
    }

    /// Returns the index of the reader's branch that reads a value of the writer.
    ///
    /// The order is the same as in Avro's Java library:
    ///
    /// 1. the same type with the writer's name as an alias
    /// 2. the same type with the same full name
    /// 3. the same type with a matching short name, if the plan exists
    /// 4. any branch of the same type, if the plan exists
    /// 5. any branch for which a plan exists, such as a branch of a wider number type
    fn branch_for(&self, writer: &AvroType, members: &[&AvroType]) -> Option<usize> {
        let first = |fits: &dyn Fn(&AvroType) -> bool| members.iter().position(|member| fits(member));
        let fits = |member: &AvroType| match member {
            AvroType::Omitted(head) => same_type(writer, head),
            member => self.resolve(writer, member).is_ok(),
        };
        let same = |member: &AvroType| same_type(writer, member);
        let full = writer.branch_name();
        let renamed =
            |m: &AvroType| type_name(m).is_some_and(|name| name.aliases.iter().any(|alias| alias == full));
        first(&|m| same(m) && renamed(m))
            .or_else(|| first(&|m| full == m.branch_name() && same(m)))
            .or_else(|| {
                first(&|m| {
                    same(m)
                        && type_name(m).zip(type_name(writer)).is_none_or(|(m, w)| m.accepts(w))
                        && fits(m)
                })
            })
            .or_else(|| first(&|m| same(m) && fits(m)))
            .or_else(|| first(&fits))
    }
}

/// Returns, for each field of the reader, the index of the writer's field whose values it receives.
///
/// As in Avro's Java library, an alias has precedence over a name. So a writer's field is read into the last
/// reader's field with this name as an alias, even if another reader's field has this name. Java refuses an
/// alias that would assign two fields of the writer to one field of the reader. This function ignores such an
/// alias.
fn sources(writer: &RecordType, reader: &RecordType) -> Vec<Option<usize>> {
    let is_renamed = |name: &String| reader.fields.iter().any(|field| field.aliases.contains(name));
    let keeps_name = |field: &AvroField| {
        !is_renamed(&field.name) && writer.fields.iter().any(|own| own.name == field.name)
    };
    let target = |own: &AvroField| {
        let renames = |field: &AvroField| field.aliases.contains(&own.name) && !keeps_name(field);
        let by_alias = reader.fields.iter().rposition(renames);
        by_alias.or_else(|| reader.fields.iter().position(|field| field.name == own.name))
    };
    let mut sources = vec![None; reader.fields.len()];
    for (i, own) in writer.fields.iter().enumerate() {
        if let Some(source) = target(own).and_then(|index| sources.get_mut(index)) {
            source.get_or_insert(i);
        }
    }
    sources
}

fn read_symbol(symbol: &str, reader: &EnumType) -> Result<String, String> {
    if reader.symbols.iter().any(|known| known == symbol) {
        return Ok(symbol.to_owned());
    }
    reader.default.clone().ok_or_else(|| {
        format!("expected one of {:?}, got {symbol:?}, and the reader's enum has no default", reader.symbols)
    })
}

fn type_name(kind: &AvroType) -> Option<&TypeName> {
    match kind {
        AvroType::Record(record) => Some(&record.name),
        AvroType::Enum(kind) => Some(&kind.name),
        AvroType::Omitted(kind) => type_name(kind),
        kind => fixed_type(kind).map(|fixed| &fixed.name),
    }
}

/// Returns whether both types are the same Avro type. Nested types are not compared.
fn same_type(writer: &AvroType, reader: &AvroType) -> bool {
    use AvroType::{Array, Boolean, Double, Enum, Float, Int, Long, Map, Omitted, Record, String};
    match (writer, reader) {
        (_, Omitted(kind)) => same_type(writer, kind),
        (Boolean, Boolean) | (Int(_), Int(_)) | (Long(_), Long(_)) | (Float, Float) | (Double, Double) => {
            true
        }
        (String, String) | (Enum(_), Enum(_)) | (Array(_), Array(_)) | (Map(_), Map(_)) => true,
        (Record(_), Record(_)) => true,
        _ => {
            let on_bytes = |kind: &AvroType| kind.branch_name() == "bytes";
            (on_bytes(writer) && on_bytes(reader))
                || (fixed_type(writer).is_some() && fixed_type(reader).is_some())
        }
    }
}

fn fixed_type(kind: &AvroType) -> Option<&FixedType> {
    match kind {
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => Some(fixed),
        AvroType::Decimal(decimal) | AvroType::DecimalText(decimal) => decimal.fixed.as_ref(),
        _ => None,
    }
}

/// Returns the plan of a type that contains no other types.
fn leaf_plan(writer: &AvroType, reader: &AvroType) -> Resolved {
    use AvroType::{Boolean, Bytes, Decimal, DecimalText, Double, Float, Int, Long, Null, String};
    let plan = match (writer, reader) {
        (Null, Null) => Some(AvroPlan::Null),
        (Boolean, Boolean) => Some(AvroPlan::Boolean),
        (Int(from), Int(to) | Long(to)) => integer_plan(AvroPlan::Int, *from, *to),
        (Long(from), Long(to)) => integer_plan(AvroPlan::Long, *from, *to),
        (Int(_), Float | Double) => Some(AvroPlan::Int),
        (Long(_), Float | Double) => Some(AvroPlan::Long),
        (Float, Float | Double) => Some(AvroPlan::Float),
        (Double, Double) => Some(AvroPlan::Double),
        (Bytes | String, Bytes | String) => Some(AvroPlan::Bytes),
        (Bytes, Decimal(read) | DecimalText(read)) if read.fixed.is_none() => decimal_plan(read, reader),
        (Decimal(written), _) if written.fixed.is_none() => match reader {
            Bytes => Some(AvroPlan::Bytes),
            Decimal(read) | DecimalText(read) if read.fixed.is_none() => decimal_plan(written, reader),
            _ => None,
        },
        _ => match (fixed_type(writer), fixed_type(reader)) {
            (Some(written), Some(read)) if written.size == read.size && read.name.accepts(&written.name) => {
                fixed_plan(writer, reader, written.size as usize)
            }
            _ => None,
        },
    };
    plan.ok_or_else(|| mismatch(writer, reader))
}

fn fixed_plan(writer: &AvroType, reader: &AvroType, size: usize) -> Option<AvroPlan> {
    match (writer, reader) {
        (AvroType::Decimal(written), AvroType::Decimal(_) | AvroType::DecimalText(_)) => {
            decimal_plan(written, reader)
        }
        (_, AvroType::Decimal(read) | AvroType::DecimalText(read)) => decimal_plan(read, reader),
        _ => Some(AvroPlan::Fixed(size)),
    }
}

/// Returns the plan to read the decimal `written` as `reader`, or `None` if digits after the point would be lost.
///
/// If the writer's type has no logical type, `written` is the reader's own decimal.
fn decimal_plan(written: &DecimalType, reader: &AvroType) -> Option<AvroPlan> {
    let fixed = written.fixed.as_ref().map(|fixed| fixed.size as usize);
    match reader {
        AvroType::DecimalText(read) => {
            let digits = written.precision.max(read.precision) as usize;
            let (scale, max_bytes) = (written.scale as usize, digits.min(MAX_TEXT_DIGITS) / 2 + 1);
            Some(AvroPlan::DecimalText(DecimalTextPlan { fixed, scale, max_bytes }))
        }
        AvroType::Decimal(read) => {
            let (precision, _) = read.digits()?;
            let factor = 10i128.checked_pow(read.scale.checked_sub(written.scale)?)?;
            let limit = 10i128.checked_pow(u32::from(precision))?;
            Some(AvroPlan::Decimal(DecimalPlan { fixed, factor, limit }))
        }
        _ => None,
    }
}

/// Returns the plan of an int or long, which converts units; a number without a logical type gets the logical
/// type of the other schema.
fn integer_plan(plan: AvroPlan, from: LogicalType, to: LogicalType) -> Option<AvroPlan> {
    let (written, read) = match (from, to) {
        (LogicalType::TimeOfDay(written), LogicalType::TimeOfDay(read))
        | (LogicalType::Moment(written), LogicalType::Moment(read)) => (written, read),
        _ if from == to || from == LogicalType::Number || to == LogicalType::Number => return Some(plan),
        _ => return None,
    };
    let (written, read) = (per_second(written), per_second(read));
    Some(match written.cmp(&read) {
        std::cmp::Ordering::Equal => plan,
        std::cmp::Ordering::Less => AvroPlan::Rescaled(Rescale { multiply: read / written, divide: 1 }),
        std::cmp::Ordering::Greater => AvroPlan::Rescaled(Rescale { multiply: 1, divide: written / read }),
    })
}

fn mismatch(writer: &AvroType, reader: &AvroType) -> Box<Mismatch> {
    let (writer, reader) = (describe(writer), describe(reader));
    mismatch_because(format!("the writer's schema has {writer}, the reader's {reader}"))
}

fn mismatch_because(why: impl Into<String>) -> Box<Mismatch> {
    Box::new(Mismatch { path: String::new(), why: why.into() })
}

fn describe(kind: &AvroType) -> String {
    match kind {
        AvroType::Int(LogicalType::Date) => "int (date)".to_owned(),
        AvroType::Int(LogicalType::TimeOfDay(_)) | AvroType::Long(LogicalType::TimeOfDay(_)) => {
            format!("{} (time)", kind.branch_name())
        }
        AvroType::Long(LogicalType::Moment(_)) => "long (timestamp)".to_owned(),
        AvroType::Decimal(DecimalType { precision, scale, .. })
        | AvroType::DecimalText(DecimalType { precision, scale, .. }) => {
            format!("{} (decimal({precision}, {scale}))", kind.branch_name())
        }
        AvroType::Reference(name) => format!("record {name}"),
        AvroType::Omitted(kind) => describe(kind),
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => {
            format!("fixed {} of {} bytes", fixed.name.full, fixed.size)
        }
        AvroType::Enum(kind) => format!("enum {}", kind.name.full),
        AvroType::Record(record) => format!("record {}", record.name.full),
        AvroType::Nullable { inner, .. } => format!("{} or null", describe(inner)),
        AvroType::Union(branches) => {
            let names: Vec<String> = branches.iter().map(describe).collect();
            format!("union of {}", names.join(", "))
        }
        other => other.branch_name().to_owned(),
    }
}

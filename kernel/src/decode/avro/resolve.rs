//! How a writer's schema is read as the reader's: Avro's schema resolution, done once for each version.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/#schema-resolution>, and where that leaves room, as Avro's Java
//! library does.
//!
//! A message is Avro binary of the schema version that it names (the writer's), without any mark of types: only the
//! writer's schema tells where a value ends. The columns have the types of the reader's schema. [`resolve`] walks both
//! schemas beside each other and makes an [`AvroPlan`]: one step for each value of the writer, in the writer's order,
//! that says what becomes of it. `read` follows the plan for every message and looks at no schema any more.
//!
//! # Which values fit
//!
//! | writer                | reader                | plan                                                                |
//! |-----------------------|-----------------------|---------------------------------------------------------------------|
//! | union                 | anything              | a plan for each branch; the branch number in the bytes chooses      |
//! | null                  | with null             | a null                                                              |
//! | anything but a union  | union                 | the plan of the branch that `branch_for` chooses                    |
//! | record                | record                | fields by the reader's aliases or by name, see below                |
//! | enum                  | enum                  | by symbol; an unknown one is the reader's default, or an error      |
//! | array, map            | array, map            | a plan for the items, the values                                    |
//! | fixed                 | fixed                 | of the same size and name                                           |
//! | int                   | long, float, double   | promoted; also long to float and double, float to double            |
//! | bytes, string         | string, bytes         | the same bytes; as a string they must be UTF-8                      |
//! | time of day, moment   | the same              | in the reader's unit, cut towards the past                          |
//! | decimal               | decimal               | in the reader's scale, which may not be smaller                     |
//!
//! Everything else is a [`Mismatch`], which names the path of the field.
//!
//! A record: each field of the writer is read into the field of the reader that names it, or is skipped. Each field of
//! the reader that no field of the writer feeds gets its default, encoded as bytes of the reader's own schema, so that
//! it is read like any other value (`default`); without a default it must be nullable, and is null.
//!
//! # When it is an error
//!
//! A mismatch is an error of the version at once, because every message of it would fail. Two things are found only in
//! values, and so they are an error only for a message that has one: a branch of the writer's union that the reader
//! cannot take ([`AvroPlan::Refused`]), unless no branch but null fits at all, and a symbol that the reader's enum lacks.
//!
//! # Where it differs from the specification
//!
//! * Records are compared by their fields and not by name, and names of enums and fixed without their namespace:
//!   producers of one topic live in different packages.
//! * Times and decimals of another unit or scale are converted, where Avro would read bare numbers. A number without a
//!   logical type takes the meaning that the other side gives it.
//! * A nullable field that a writer lacks needs no default.
//!
//! Why it ends: the reader's schema is a tree of bounded depth (`schema/avro/column_document.py` sees to that), and each step
//! into a record of the writer, which may contain itself, is one into a record of the reader.

use super::default::encode_default;
use super::plan::{AvroPlan, DecimalPlan, DecimalTextPlan, FieldStep, Mismatch, RecordPlan, Rescale};
use crate::avro_schema::{
    AvroField, AvroType, DecimalType, EnumType, FixedType, LogicalType, RecordType, Recursive, TypeName,
};
use crate::conform::per_second;

/// Digits of the largest decimal that is read as text.
const MAX_TEXT_DIGITS: usize = 1000;

type Resolved = Result<AvroPlan, Box<Mismatch>>;

/// How to read `writer` as `reader`. `recursive` are the records of the writer that contain themselves; the reader has
/// none, so that every walk ends.
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
            // A default of the reader's union that its column has no member for.
            (AvroType::Omitted(_), _) => Ok(AvroPlan::Skipped(writer.clone())),
            (AvroType::Nullable { inner, null_branch }, _) => {
                let branches =
                    if *null_branch == 0 { [&AvroType::Null, inner] } else { [inner, &AvroType::Null] };
                self.written_union(&branches, reader)
            }
            (AvroType::Union(branches), _) => {
                self.written_union(&branches.iter().collect::<Vec<_>>(), reader)
            }
            (AvroType::Null, AvroType::Nullable { .. }) => Ok(AvroPlan::Null),
            (_, AvroType::Nullable { inner, .. }) => self.resolve(writer, inner),
            (AvroType::Null, AvroType::Union(branches)) if branches.contains(&AvroType::Null) => {
                Ok(AvroPlan::Null)
            }
            (_, AvroType::Union(_)) => self.member(writer, reader),
            (AvroType::Array(item), AvroType::Array(_)) if item.may_be_empty() => {
                Err(because("array items that take no bytes could be of any number"))
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
            _ => leaf(writer, reader),
        }
    }

    fn written_union(&self, branches: &[&AvroType], reader: &AvroType) -> Resolved {
        let plans: Vec<_> = branches.iter().map(|branch| self.resolve(branch, reader)).collect();
        // With no branch but null that could ever be read, the schemas have nothing in common.
        let mut members = branches.iter().zip(&plans).filter(|(branch, _)| **branch != &AvroType::Null);
        if let Some((_, Err(why))) = members.clone().next().filter(|_| members.all(|(_, plan)| plan.is_err()))
        {
            return Err(why.clone());
        }
        Ok(AvroPlan::Union(plans.into_iter().map(|plan| plan.unwrap_or_else(AvroPlan::Refused)).collect()))
    }

    /// As a branch of the reader's union; null where the column has no member for the branch.
    fn member(&self, writer: &AvroType, reader: &AvroType) -> Resolved {
        let members = reader.members();
        let chosen = self.branch_for(writer, &members).and_then(|index| Some((index, *members.get(index)?)));
        let Some((index, member)) = chosen else { return Err(mismatch(writer, reader)) };
        if matches!(member, AvroType::Omitted(_)) {
            return Ok(AvroPlan::Skipped(writer.clone()));
        }
        let plan = self.resolve(writer, member)?;
        let place = members.iter().take(index).filter(|member| member.is_held()).count();
        Ok(if members.len() == 1 { plan } else { AvroPlan::Member(place, Box::new(plan)) })
    }

    /// Fields of the reader by alias or name.
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
            return nullable
                .map_err(|_| because("the writer's schema lacks it and the reader's has no default"));
        };
        let mut bytes = Vec::new();
        encode_default(&field.kind, default, &mut bytes).map_err(because)?;
        Ok(AvroPlan::Default(bytes, Box::new(self.resolve(&field.kind, &field.kind)?)))
    }

    /// Which of the reader's branches a value of the writer is read as, by the rules of Avro's Java library: the
    /// type that has the writer's name as an alias, the same type (named types by full name), a record of fitting
    /// shape, a promotion.
    fn branch_for(&self, writer: &AvroType, members: &[&AvroType]) -> Option<usize> {
        let first = |fits: &dyn Fn(&AvroType) -> bool| members.iter().position(|member| fits(member));
        let fits = |member: &AvroType| match member {
            AvroType::Omitted(head) => same_type(writer, head),
            member => self.resolve(writer, member).is_ok(),
        };
        let same = |member: &AvroType| same_type(writer, member);
        let full = writer.branch_name();
        let renamed =
            |m: &AvroType| named(m).is_some_and(|name| name.aliases.iter().any(|alias| alias == full));
        first(&|m| same(m) && renamed(m))
            .or_else(|| first(&|m| full == m.branch_name() && same(m)))
            .or_else(|| {
                first(&|m| {
                    same(m) && named(m).zip(named(writer)).is_none_or(|(m, w)| m.accepts(w)) && fits(m)
                })
            })
            .or_else(|| first(&|m| same(m) && fits(m)))
            .or_else(|| first(&fits))
    }
}

/// For each field of the reader the index of the writer's that it is read from.
///
/// As in Avro's Java library, an alias goes before a name: a writer's field is the reader's that has its name as an
/// alias, though another one has its name; of several the last. Where that would leave two fields of the writer for
/// one of the reader, which Java refuses, the writer's field keeps its name.
fn sources(writer: &RecordType, reader: &RecordType) -> Vec<Option<usize>> {
    let is_renamed = |name: &String| reader.fields.iter().any(|field| field.aliases.contains(name));
    let is_taken = |field: &AvroField| {
        !is_renamed(&field.name) && writer.fields.iter().any(|own| own.name == field.name)
    };
    let target = |own: &AvroField| {
        let renames = |field: &AvroField| field.aliases.contains(&own.name) && !is_taken(field);
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

fn named(kind: &AvroType) -> Option<&TypeName> {
    match kind {
        AvroType::Record(record) => Some(&record.name),
        AvroType::Enum(kind) => Some(&kind.name),
        AvroType::Omitted(kind) => named(kind),
        kind => fixed_of(kind).map(|fixed| &fixed.name),
    }
}

/// Whether both are one type of Avro's, not looking below it.
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
                || (fixed_of(writer).is_some() && fixed_of(reader).is_some())
        }
    }
}

fn fixed_of(kind: &AvroType) -> Option<&FixedType> {
    match kind {
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => Some(fixed),
        AvroType::Decimal(decimal) | AvroType::DecimalText(decimal) => decimal.fixed.as_ref(),
        _ => None,
    }
}

/// Types without types below them.
fn leaf(writer: &AvroType, reader: &AvroType) -> Resolved {
    use AvroType::{Boolean, Bytes, Decimal, DecimalText, Double, Float, Int, Long, Null, String};
    let plan = match (writer, reader) {
        (Null, Null) => Some(AvroPlan::Null),
        (Boolean, Boolean) => Some(AvroPlan::Boolean),
        (Int(from), Int(to) | Long(to)) => whole(AvroPlan::Int, *from, *to),
        (Long(from), Long(to)) => whole(AvroPlan::Long, *from, *to),
        (Int(_), Float | Double) => Some(AvroPlan::Int),
        (Long(_), Float | Double) => Some(AvroPlan::Long),
        (Float, Float | Double) => Some(AvroPlan::Float),
        (Double, Double) => Some(AvroPlan::Double),
        (Bytes | String, Bytes | String) => Some(AvroPlan::Bytes),
        (Bytes, Decimal(read) | DecimalText(read)) if read.fixed.is_none() => decimal(read, reader),
        (Decimal(written), _) if written.fixed.is_none() => match reader {
            Bytes => Some(AvroPlan::Bytes),
            Decimal(read) | DecimalText(read) if read.fixed.is_none() => decimal(written, reader),
            _ => None,
        },
        _ => match (fixed_of(writer), fixed_of(reader)) {
            (Some(written), Some(read)) if written.size == read.size && read.name.accepts(&written.name) => {
                fixed(writer, reader, written.size as usize)
            }
            _ => None,
        },
    };
    plan.ok_or_else(|| mismatch(writer, reader))
}

fn fixed(writer: &AvroType, reader: &AvroType, size: usize) -> Option<AvroPlan> {
    match (writer, reader) {
        (AvroType::Decimal(written), AvroType::Decimal(_) | AvroType::DecimalText(_)) => {
            decimal(written, reader)
        }
        (_, AvroType::Decimal(read) | AvroType::DecimalText(read)) => decimal(read, reader),
        _ => Some(AvroPlan::Fixed(size)),
    }
}

/// A decimal as `written`, or where the writer only has bytes as the reader's own, read as the decimal `reader`. Fewer
/// digits after the point than written would lose some.
fn decimal(written: &DecimalType, reader: &AvroType) -> Option<AvroPlan> {
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

/// Units are converted; a bare number takes the meaning that the other side gives it.
fn whole(plan: AvroPlan, from: LogicalType, to: LogicalType) -> Option<AvroPlan> {
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
    because(format!("the writer's schema has {}, the reader's {}", describe(writer), describe(reader)))
}

fn because(why: impl Into<String>) -> Box<Mismatch> {
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

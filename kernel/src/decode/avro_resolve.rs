//! How a writer's schema is read as the reader's: Avro's schema resolution, done once for each version.
//!
//! <https://avro.apache.org/docs/1.12.0/specification/#schema-resolution>, and where that leaves room, as Avro's
//! Java library does: records are compared by their fields, not by name; a branch of a union that cannot be
//! read is an error only for the values in it. Beyond it: times and decimals of another unit or scale are
//! converted rather than read as bare numbers, and a nullable field that a writer lacks needs no default.

use super::avro_default::encode_default;
use super::avro_plan::{DecimalPlan, Mismatch, Plan, RecordPlan, Rescale, Step};
use crate::conform::per_second;
use crate::document::{AvroField, AvroType, EnumType, FixedType, Meaning, RecordType};

type Resolved = Result<Plan, Box<Mismatch>>;

/// How to read `writer` as `reader`.
pub fn resolve(writer: &AvroType, reader: &AvroType) -> Resolved {
    match (writer, reader) {
        (AvroType::Nullable { inner, null_branch }, _) => {
            let branches =
                if *null_branch == 0 { [&AvroType::Null, inner] } else { [inner, &AvroType::Null] };
            written_union(&branches, reader)
        }
        (AvroType::Union(branches), _) => written_union(&branches.iter().collect::<Vec<_>>(), reader),
        (AvroType::Null, AvroType::Nullable { .. }) => Ok(Plan::Null),
        (_, AvroType::Nullable { inner, .. }) => resolve(writer, inner),
        (AvroType::Null, AvroType::Union(branches)) if branches.contains(&AvroType::Null) => Ok(Plan::Null),
        (_, AvroType::Union(_)) => {
            let members = reader.members();
            let Some(index) = branch_for(writer, &members) else { return Err(mismatch(writer, reader)) };
            let Some(member) = members.get(index) else { return Err(mismatch(writer, reader)) };
            let plan = resolve(writer, member)?;
            Ok(if members.len() == 1 { plan } else { Plan::Member(index, Box::new(plan)) })
        }
        (AvroType::Array(item), AvroType::Array(wanted)) => {
            Ok(Plan::Array(Box::new(resolve(item, wanted).map_err(|e| e.below("[]"))?)))
        }
        (AvroType::Map(value), AvroType::Map(wanted)) => {
            Ok(Plan::Map(Box::new(resolve(value, wanted).map_err(|e| e.below("{}"))?)))
        }
        (AvroType::Record(record), AvroType::Record(wanted)) => record_plan(record, wanted).map(Plan::Record),
        (AvroType::Enum(symbols), AvroType::Enum(wanted)) if wanted.name.accepts(&symbols.name) => {
            Ok(Plan::Enum(symbols.symbols.iter().map(|symbol| read_symbol(symbol, wanted)).collect()))
        }
        _ => leaf(writer, reader),
    }
}

fn written_union(branches: &[&AvroType], reader: &AvroType) -> Resolved {
    let plans: Vec<_> = branches.iter().map(|branch| resolve(branch, reader)).collect();
    // With no branch but null that could ever be read, the schemas have nothing in common.
    let mut members = branches.iter().zip(&plans).filter(|(branch, _)| **branch != &AvroType::Null);
    if let Some((_, Err(why))) = members.clone().next().filter(|_| members.all(|(_, plan)| plan.is_err())) {
        return Err(why.clone());
    }
    Ok(Plan::Union(plans.into_iter().map(|plan| plan.unwrap_or_else(Plan::Refused)).collect()))
}

/// Fields of the reader by name or alias.
pub fn record_plan(writer: &RecordType, reader: &RecordType) -> Result<RecordPlan, Box<Mismatch>> {
    let source = |field: &AvroField| {
        let named = |name: &String| writer.fields.iter().position(|own| own.name == *name);
        named(&field.name).or_else(|| field.aliases.iter().find_map(named))
    };
    let sources: Vec<Option<usize>> = reader.fields.iter().map(source).collect();
    let mut steps = Vec::with_capacity(writer.fields.len());
    for (i, own) in writer.fields.iter().enumerate() {
        let target = sources.iter().position(|source| *source == Some(i));
        steps.push(match target.and_then(|index| Some((index, reader.fields.get(index)?))) {
            Some((index, field)) => {
                let plan = resolve(&own.kind, &field.kind).map_err(|e| e.below(&own.name))?;
                Step::Read(index, own.name.clone(), plan)
            }
            None => Step::Skip(own.name.clone(), own.kind.clone()),
        });
    }
    let lacking = reader.fields.iter().enumerate().filter(|(i, _)| {
        // Two fields of the reader may name one of the writer: the first takes it.
        let source = sources.get(*i).copied().flatten();
        source.is_none() || sources.iter().position(|other| *other == source) != Some(*i)
    });
    let absent = lacking.map(|(i, field)| Ok((i, default_plan(field).map_err(|e| e.below(&field.name))?)));
    Ok(RecordPlan { steps, absent: absent.collect::<Result<_, Box<Mismatch>>>()? })
}

fn default_plan(field: &AvroField) -> Resolved {
    let Some(default) = &field.default else {
        let nullable = resolve(&AvroType::Null, &field.kind);
        return nullable.map_err(|_| because("the writer's schema lacks it and the reader's has no default"));
    };
    let mut bytes = Vec::new();
    encode_default(&field.kind, default, &mut bytes).map_err(because)?;
    Ok(Plan::Default(bytes, Box::new(resolve(&field.kind, &field.kind)?)))
}

fn read_symbol(symbol: &str, reader: &EnumType) -> Result<String, String> {
    if reader.symbols.iter().any(|known| known == symbol) {
        return Ok(symbol.to_owned());
    }
    reader.default.clone().ok_or_else(|| {
        format!("expected one of {:?}, got {symbol:?}, and the reader's enum has no default", reader.symbols)
    })
}

/// Which of the reader's branches a value of the writer is read as, by the rules of Avro's Java library: the
/// same type (named types by full name), a record of fitting shape, a promotion.
fn branch_for(writer: &AvroType, members: &[&AvroType]) -> Option<usize> {
    let first = |fits: &dyn Fn(&AvroType) -> bool| members.iter().position(|member| fits(member));
    let fits = |member: &AvroType| resolve(writer, member).is_ok();
    let same = |member: &AvroType| same_type(writer, member);
    first(&|m| writer.branch_name() == m.branch_name() && same(m))
        .or_else(|| {
            first(&|m| same(m) && named(m).zip(named(writer)).is_none_or(|(m, w)| m.accepts(w)) && fits(m))
        })
        .or_else(|| first(&|m| same(m) && fits(m)))
        .or_else(|| first(&fits))
}

fn named(kind: &AvroType) -> Option<&crate::document::TypeName> {
    match kind {
        AvroType::Record(record) => Some(&record.name),
        AvroType::Enum(kind) => Some(&kind.name),
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) | AvroType::Decimal { fixed: Some(fixed), .. } => {
            Some(&fixed.name)
        }
        _ => None,
    }
}

/// Whether both are one type of Avro's, not looking below it.
fn same_type(writer: &AvroType, reader: &AvroType) -> bool {
    use AvroType::{Array, Boolean, Bytes, Decimal, Double, Enum, Float, Int, Long, Map, Record, String};
    match (writer, reader) {
        (Boolean, Boolean) | (Int(_), Int(_)) | (Long(_), Long(_)) | (Float, Float) | (Double, Double) => {
            true
        }
        (String, String) | (Enum(_), Enum(_)) | (Array(_), Array(_)) | (Map(_), Map(_)) => true,
        (Record(_), Record(_)) => true,
        (Bytes | Decimal { fixed: None, .. }, Bytes | Decimal { fixed: None, .. }) => true,
        _ => fixed_of(writer).is_some() && fixed_of(reader).is_some(),
    }
}

fn fixed_of(kind: &AvroType) -> Option<&FixedType> {
    match kind {
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => Some(fixed),
        AvroType::Decimal { fixed, .. } => fixed.as_ref(),
        _ => None,
    }
}

/// Types without types below them.
fn leaf(writer: &AvroType, reader: &AvroType) -> Resolved {
    use AvroType::{Boolean, Bytes, Decimal, Double, Float, Int, Long, Null, String};
    let plan = match (writer, reader) {
        (Null, Null) => Some(Plan::Null),
        (Boolean, Boolean) => Some(Plan::Boolean),
        (Int(from), Int(to) | Long(to)) => whole(Plan::Int, *from, *to),
        (Long(from), Long(to)) => whole(Plan::Long, *from, *to),
        (Int(_), Float | Double) => Some(Plan::Int),
        (Long(_), Float | Double) => Some(Plan::Long),
        (Float, Float | Double) => Some(Plan::Float),
        (Double, Double) => Some(Plan::Double),
        (Bytes | String, Bytes | String) | (Decimal { fixed: None, .. }, Bytes) => Some(Plan::Bytes),
        (Bytes, Decimal { fixed: None, precision, .. }) => decimal(None, 0, *precision),
        (Decimal { fixed: None, scale: from, .. }, Decimal { fixed: None, scale: to, precision }) => {
            decimal(None, to - from, *precision)
        }
        _ => match (fixed_of(writer), fixed_of(reader)) {
            (Some(own), Some(wanted)) if own.size == wanted.size && wanted.name.accepts(&own.name) => {
                fixed(writer, reader, own.size as usize)
            }
            _ => None,
        },
    };
    plan.ok_or_else(|| mismatch(writer, reader))
}

fn fixed(writer: &AvroType, reader: &AvroType, size: usize) -> Option<Plan> {
    match (writer, reader) {
        (AvroType::Decimal { scale: from, .. }, AvroType::Decimal { scale: to, precision, .. }) => {
            decimal(Some(size), to - from, *precision)
        }
        (_, AvroType::Decimal { precision, .. }) => decimal(Some(size), 0, *precision),
        _ => Some(Plan::Fixed(size)),
    }
}

/// Fewer digits behind the point than written would lose some.
fn decimal(fixed: Option<usize>, more_digits: i8, precision: u8) -> Option<Plan> {
    let factor = 10i128.checked_pow(u32::try_from(more_digits).ok()?)?;
    let limit = 10i128.checked_pow(u32::from(precision))?;
    Some(Plan::Decimal(DecimalPlan { fixed, factor, limit }))
}

/// Units are converted; a bare number takes the meaning that the other side gives it.
fn whole(plan: Plan, from: Meaning, to: Meaning) -> Option<Plan> {
    let (own, wanted) = match (from, to) {
        (Meaning::TimeOfDay(own), Meaning::TimeOfDay(wanted))
        | (Meaning::Moment(own), Meaning::Moment(wanted)) => (own, wanted),
        _ if from == to || from == Meaning::Number || to == Meaning::Number => return Some(plan),
        _ => return None,
    };
    let (own, wanted) = (per_second(own), per_second(wanted));
    Some(match own.cmp(&wanted) {
        std::cmp::Ordering::Equal => plan,
        std::cmp::Ordering::Less => Plan::Rescaled(Rescale { multiply: wanted / own, divide: 1 }),
        std::cmp::Ordering::Greater => Plan::Rescaled(Rescale { multiply: 1, divide: own / wanted }),
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
        AvroType::Int(Meaning::Date) => "int (date)".to_owned(),
        AvroType::Int(Meaning::TimeOfDay(_)) | AvroType::Long(Meaning::TimeOfDay(_)) => {
            format!("{} (time)", kind.branch_name())
        }
        AvroType::Long(Meaning::Moment(_)) => "long (timestamp)".to_owned(),
        AvroType::Decimal { precision, scale, .. } => {
            format!("{} (decimal({precision}, {scale}))", kind.branch_name())
        }
        AvroType::Fixed(fixed) | AvroType::Uuid(fixed) => {
            format!("fixed {} of {} bytes", fixed.name.full, fixed.size)
        }
        AvroType::Enum(kind) => format!("enum {}", kind.name.full),
        AvroType::Record(record) => format!("record {}", record.name.full),
        AvroType::Nullable { inner, .. } => format!("{} or null", describe(inner)),
        AvroType::Union(branches) => {
            let each: Vec<String> = branches.iter().map(describe).collect();
            format!("union of {}", each.join(", "))
        }
        other => other.branch_name().to_owned(),
    }
}

//! A struct column with a member for each non-null branch of a union, at most one of them set in a row.

use arrow_array::{Array, StructArray};

use crate::avro_schema::AvroType;
use crate::avro_schema::json_tags::{BranchTags, is_told_by_value};
use crate::encode::binding::{Bound, Refused};
use crate::error::{KernelError, Result};

/// The members with what their branches are called.
#[derive(Debug)]
pub struct BoundUnion {
    array: StructArray,
    members: Vec<Member>,
    /// Index of null among the branches.
    pub null_branch: Option<usize>,
    tags: BranchTags,
}

/// One branch that is not null.
#[derive(Debug)]
pub struct Member {
    /// Index among all branches.
    pub branch: usize,
    /// Its values.
    pub values: Bound,
    /// The name under which JSON tells it apart.
    pub tag: String,
    /// Whether JSON tells it apart by its value alone.
    pub told_by_value: bool,
}

impl BoundUnion {
    /// `array` has a child for each branch of `branches` that is not null, in their order.
    pub fn new(branches: &[AvroType], array: &StructArray) -> Result<Self> {
        let mut columns = array.columns().iter();
        let mut members = Vec::with_capacity(array.num_columns());
        let held = branches.iter().enumerate().filter(|(_, kind)| **kind != AvroType::Null && kind.is_held());
        for (branch, kind) in held {
            let column = columns
                .next()
                .ok_or_else(|| KernelError::schema("a union with fewer members than branches"))?;
            members.push(Member {
                branch,
                values: Bound::new(kind, column)?,
                tag: kind.branch_name().to_owned(),
                told_by_value: is_told_by_value(kind, branches),
            });
        }
        let null_branch = branches.iter().position(|kind| *kind == AvroType::Null);
        Ok(Self { array: array.clone(), members, null_branch, tags: BranchTags::new(branches) })
    }

    /// Whether no member is set.
    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || self.members.iter().all(|member| member.values.is_null(row))
    }

    /// The one member that is set; `None` where none is and null is a branch.
    pub fn chosen(&self, row: usize) -> std::result::Result<Option<&Member>, Box<Refused>> {
        if self.array.is_null(row) {
            return self.none("null");
        }
        let mut set = self.members.iter().enumerate().filter(|(_, member)| !member.values.is_null(row));
        let Some((first, member)) = set.next() else { return self.none("none") };
        match set.next() {
            None => Ok(Some(member)),
            Some((second, _)) => Err(Refused::new(format!(
                "expected one member of the union to be set, got member{first} and member{second}"
            ))),
        }
    }

    fn none(&self, got: &str) -> std::result::Result<Option<&Member>, Box<Refused>> {
        if self.null_branch.is_some() {
            return Ok(None);
        }
        let why = "expected one member of the union to be set";
        Err(Refused::new(format!("{why}, got {got}; the schema does not allow null here")))
    }

    /// Whether an object with the one key `key` would be taken for a tagged value.
    pub fn is_tag(&self, key: &str) -> bool {
        self.tags.branch(key).is_some()
    }

    /// Whether what was written of a value that is no number would be taken for one: for NaN or an infinity.
    pub fn is_odd_number(&self, values: &Bound, written: &[u8]) -> bool {
        let number = |values: &Bound| matches!(values, Bound::Float(_) | Bound::Double(_));
        matches!(written, b"\"NaN\"" | b"\"Infinity\"" | b"\"-Infinity\"")
            && !number(values)
            && self.members.iter().any(|member| number(&member.values))
    }

    /// Whether text in JSON could be meant for another branch than a number's.
    pub fn has_text(&self) -> bool {
        self.members.iter().any(|member| {
            matches!(
                member.values,
                Bound::String(_) | Bound::Bytes(_) | Bound::Fixed(_) | Bound::Uuid(_) | Bound::Enum(_, _)
            )
        })
    }
}

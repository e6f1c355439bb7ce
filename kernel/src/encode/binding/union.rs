//! Unions of several branches. A struct column has a member for each branch that is not null; at most one is
//! set in a row.

use arrow_array::{Array, StructArray};

use crate::avro_schema::AvroType;
use crate::avro_schema::json_tags::{BranchTags, is_evident_from_value};
use crate::encode::binding::{Bound, Refused};
use crate::error::{KernelError, Result};

/// A union's members, with the names of their branches.
#[derive(Debug)]
pub struct BoundUnion {
    array: StructArray,
    members: Vec<Member>,
    /// The index of null among the branches.
    pub null_branch: Option<usize>,
    tags: BranchTags,
}

/// A branch that is not null.
#[derive(Debug)]
pub struct Member {
    /// The index of the branch in the union. The branch for null is counted too.
    pub branch: usize,
    /// The member's values.
    pub values: Bound,
    /// The name of the branch in JSON.
    pub tag: String,
    /// True if the value alone determines its branch in JSON.
    pub evident_from_value: bool,
}

impl BoundUnion {
    /// Binds a union. `array` has a child for each branch of `branches` that is not null, in their order.
    pub fn new(branches: &[AvroType], array: &StructArray) -> Result<Self> {
        let mut columns = array.columns().iter();
        let mut members = Vec::with_capacity(array.num_columns());
        let held = branches.iter().enumerate().filter(|(_, kind)| **kind != AvroType::Null && kind.is_held());
        for (branch, kind) in held {
            let column = columns.next().ok_or_else(|| {
                KernelError::schema("expected a member for each branch of a union, got fewer")
            })?;
            members.push(Member {
                branch,
                values: Bound::new(kind, column)?,
                tag: kind.branch_name().to_owned(),
                evident_from_value: is_evident_from_value(kind, branches),
            });
        }
        let null_branch = branches.iter().position(|kind| *kind == AvroType::Null);
        Ok(Self { array: array.clone(), members, null_branch, tags: BranchTags::new(branches) })
    }

    /// Returns whether no member is set.
    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || self.members.iter().all(|member| member.values.is_null(row))
    }

    /// Returns the only member that is set. `None` means that no member is set, and that null is a branch.
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

    /// Returns whether a reader would mistake an object with the only key `key` for a tagged value.
    pub fn is_tag(&self, key: &str) -> bool {
        self.tags.branch(key).is_some()
    }

    /// Returns whether a reader would mistake a written value for NaN or an infinity, although the value is
    /// not a number.
    pub fn is_odd_number(&self, values: &Bound, written: &[u8]) -> bool {
        let number = |values: &Bound| matches!(values, Bound::Float(_) | Bound::Double(_));
        matches!(written, b"\"NaN\"" | b"\"Infinity\"" | b"\"-Infinity\"")
            && !number(values)
            && self.members.iter().any(|member| number(&member.values))
    }

    /// Returns whether a branch that is not a number can be text in JSON.
    pub fn has_text(&self) -> bool {
        self.members.iter().any(|member| {
            matches!(
                member.values,
                Bound::String(_) | Bound::Bytes(_) | Bound::Fixed(_) | Bound::Uuid(_) | Bound::Enum(_, _)
            )
        })
    }
}

//! Names of an enum's numbers, in both directions.

use std::collections::HashMap;

/// The values of one enum type.
#[derive(Debug, Clone, Default)]
pub struct EnumNames {
    /// A closed enum (proto2) knows no other numbers than these.
    closed: bool,
    /// Names of the numbers from 0 on, without gaps: nearly all enums lie here whole.
    dense: Vec<String>,
    /// Names of the other numbers.
    sparse: HashMap<i32, String>,
    numbers: HashMap<String, i32>,
}

impl EnumNames {
    /// Of two names for one number the first is shown; both are accepted in writing.
    pub fn new(closed: bool, values: Vec<(String, i32)>) -> Self {
        let mut sparse = HashMap::new();
        let mut numbers = HashMap::new();
        for (name, number) in values {
            sparse.entry(number).or_insert_with(|| name.clone());
            numbers.insert(name, number);
        }
        let mut dense = Vec::new();
        while let Some(name) = i32::try_from(dense.len()).ok().and_then(|next| sparse.remove(&next)) {
            dense.push(name);
        }
        Self { closed, dense, sparse, numbers }
    }

    /// The name of a number, if it has one.
    #[inline]
    pub fn name(&self, number: i32) -> Option<&str> {
        match usize::try_from(number).ok().and_then(|index| self.dense.get(index)) {
            Some(name) => Some(name),
            None => self.sparse.get(&number).map(String::as_str),
        }
    }

    /// The number of a name, or the number itself where the text is one that the enum may hold.
    pub fn number(&self, text: &str) -> Option<i32> {
        if let Some(number) = self.numbers.get(text) {
            return Some(*number);
        }
        let number = text.parse().ok()?;
        self.holds(number).then_some(number)
    }

    /// Whether the enum may hold the number.
    pub fn holds(&self, number: i32) -> bool {
        !self.closed || self.name(number).is_some()
    }

    /// What [`EnumNames::number`] accepts.
    pub fn expected(&self) -> String {
        let mut names: Vec<&str> = self.numbers.keys().map(String::as_str).collect();
        names.sort_unstable_by_key(|name| self.numbers.get(*name));
        let shown: Vec<&str> = names.iter().take(20).copied().collect();
        let more = if names.len() > shown.len() { ", ..." } else { "" };
        let number = if self.closed { "" } else { " or a number" };
        format!("one of {}{more}{number}", shown.join(", "))
    }
}

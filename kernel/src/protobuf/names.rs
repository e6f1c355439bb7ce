//! The names of an enum's numbers, and the numbers of its names.

use std::collections::HashMap;

/// The values of one enum type.
#[derive(Debug, Clone, Default)]
pub struct EnumNames {
    /// True if the enum is closed (proto2), so that only the numbers with a name are valid.
    closed: bool,
    /// The names of the numbers from 0 up to the first gap. Nearly all enums have no other numbers.
    dense: Vec<String>,
    /// The names of the other numbers.
    sparse: HashMap<i32, String>,
    numbers: HashMap<String, i32>,
}

impl EnumNames {
    /// Creates the names of an enum. If a number has two names, the decoder returns the first name, and the
    /// encoder accepts both names.
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

    /// Returns the name of a number, if it has one.
    #[inline]
    pub fn name(&self, number: i32) -> Option<&str> {
        match usize::try_from(number).ok().and_then(|index| self.dense.get(index)) {
            Some(name) => Some(name),
            None => self.sparse.get(&number).map(String::as_str),
        }
    }

    /// Returns the number of a name. A text of digits is accepted if the enum may contain the number.
    pub fn number(&self, text: &str) -> Option<i32> {
        if let Some(number) = self.numbers.get(text) {
            return Some(*number);
        }
        let number = text.parse().ok()?;
        self.holds(number).then_some(number)
    }

    /// Returns whether the enum may contain the number.
    pub fn holds(&self, number: i32) -> bool {
        !self.closed || self.name(number).is_some()
    }

    /// Describes the texts that [`EnumNames::number`] accepts, for errors.
    pub fn expected(&self) -> String {
        let mut names: Vec<&str> = self.numbers.keys().map(String::as_str).collect();
        names.sort_unstable_by_key(|name| self.numbers.get(*name));
        let shown: Vec<&str> = names.iter().take(20).copied().collect();
        let more = if names.len() > shown.len() { ", ..." } else { "" };
        let number = if self.closed { "" } else { " or a number" };
        format!("one of {}{more}{number}", shown.join(", "))
    }
}

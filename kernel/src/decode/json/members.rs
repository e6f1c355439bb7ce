//! The mapping from keys of an object to fields.
//!
//! A writer's objects usually have their members in the same order, including members without a column. So this module
//! records the order of earlier objects, and compares the next key with the expected key. Such a comparison of bytes is
//! several times as fast as reading and searching the key. Unexpected keys are searched, with the same result.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_schema::Fields;

use super::cursor::{JsonCursor, JsonResult};
use super::quoted_key::QuotedKey;

/// Maximum number of fields for which a key is searched by comparing all names. Records with more fields use
/// a hash map.
const MAX_SCANNED_FIELDS: usize = 16;
/// Largest number of recorded keys without a field, because objects that are used as maps have arbitrary keys.
const MAX_OTHER_KEYS: usize = 64;
/// Maximum number of absent members before a key that is still found without a search. Members are absent if
/// writers omit nulls.
const MAX_ABSENT: usize = 2;

/// The fields of a record, and the order of the members in its objects.
pub struct Members {
    fields: Fields,
    /// Map from name to index of each field; empty if the record has few fields.
    by_name: HashMap<Vec<u8>, usize>,
    /// Known keys, in the order of the objects.
    known: Vec<Member>,
}

/// A key and its field.
pub struct Member {
    /// Key with quotes and colon.
    pub quoted: QuotedKey,
    /// Index of the field, or `OTHER`.
    pub field: usize,
}

/// Index that represents a key without a field. No field can have this index.
const OTHER: usize = usize::MAX;

impl Member {
    /// Returns whether the member has this key and field.
    fn matches(&self, name: &[u8], field: usize) -> bool {
        self.field == field && (field != OTHER || self.quoted.has_name(name))
    }
}

impl Members {
    /// Creates the mapping for `fields`, without a known order.
    pub fn new(fields: &Fields) -> Self {
        let named =
            fields.iter().enumerate().map(|(index, field)| (field.name().clone().into_bytes(), index));
        let by_name = if fields.len() > MAX_SCANNED_FIELDS { named.collect() } else { HashMap::new() };
        Self { fields: fields.clone(), by_name, known: Vec::new() }
    }

    /// Returns the member that earlier objects had at this position.
    #[inline]
    pub fn expected_member(&self, position: usize) -> Option<&Member> {
        self.known.get(position)
    }

    /// Reads a key that is not the key expected at `position`.
    ///
    /// Returns the field's index or `OTHER`, and the position of the next key.
    #[inline(never)]
    pub fn unexpected(&mut self, position: usize, cursor: &mut JsonCursor<'_>) -> JsonResult<(usize, usize)> {
        for (index, known) in self.known.iter().enumerate().skip(position + 1).take(MAX_ABSENT) {
            if cursor.is_key(&known.quoted) {
                return Ok((known.field, index + 1));
            }
        }
        self.look_up(position, cursor)
    }

    fn look_up(&mut self, position: usize, cursor: &mut JsonCursor<'_>) -> JsonResult<(usize, usize)> {
        let key = cursor.key()?;
        let field = self.field_index(&key).unwrap_or(OTHER);
        // A key with escapes is not recorded, because its bytes differ from its name.
        let Cow::Borrowed(name) = key else { return Ok((field, position)) };
        if let Some(index) = self.known.iter().position(|known| known.matches(name, field)) {
            return Ok((field, index + 1));
        }
        if self.known.len() >= self.fields.len() + MAX_OTHER_KEYS {
            return Ok((field, position));
        }
        let quoted = QuotedKey::new(name);
        self.known.insert(position.min(self.known.len()), Member { quoted, field });
        Ok((field, position + 1))
    }

    fn field_index(&self, key: &[u8]) -> Option<usize> {
        if self.fields.len() > MAX_SCANNED_FIELDS {
            return self.by_name.get(key).copied();
        }
        self.fields.iter().position(|field| field.name().as_bytes() == key)
    }
}

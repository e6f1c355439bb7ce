//! Which field a key of an object is.
//!
//! A writer's objects have their members in one order, also those that no column wants. So the order is learnt from the
//! objects that come, and the next key is compared with what came there before: a comparison of bytes, where reading the
//! key and looking it up costs several times as much. What does not fit is looked up, and the answer is the same.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow_schema::Fields;

use super::cursor::{JsonCursor, JsonResult};
use super::quoted_key::QuotedKey;

/// Records of more fields look their keys up by hash.
const FEW_FIELDS: usize = 16;
/// Keys that are learnt beside those of the fields; objects used as maps have any number.
const MOST_OTHERS: usize = 64;
/// Members that an object may leave out, and the next key is still known without a look-up. Writers leave out nulls.
const LEFT_OUT: usize = 2;

/// The fields of a record, and the order in which its objects have their members.
pub struct Members {
    fields: Fields,
    /// Only for many fields.
    by_name: HashMap<Vec<u8>, usize>,
    /// In the order in which they came.
    known: Vec<Member>,
}

/// A key, and which field it is.
pub struct Member {
    /// The key.
    pub quoted: QuotedKey,
    /// `OTHER` for a key that is no field.
    pub field: usize,
}

/// No record has so many fields.
const OTHER: usize = usize::MAX;

impl Member {
    /// Whether it is the one with this key, which is this field.
    fn is(&self, name: &[u8], field: usize) -> bool {
        self.field == field && (field != OTHER || self.quoted.is_of(name))
    }
}

impl Members {
    /// Nothing is known of the order yet.
    pub fn new(fields: &Fields) -> Self {
        let named =
            fields.iter().enumerate().map(|(index, field)| (field.name().clone().into_bytes(), index));
        let by_name = if fields.len() > FEW_FIELDS { named.collect() } else { HashMap::new() };
        Self { fields: fields.clone(), by_name, known: Vec::new() }
    }

    /// What came at this place in the objects before.
    #[inline]
    pub fn expected(&self, place: usize) -> Option<&Member> {
        self.known.get(place)
    }

    /// Go past a key that is not the one expected at `place`: its field, `OTHER` for none, and the next key's place.
    #[inline(never)]
    pub fn unexpected(&mut self, place: usize, cursor: &mut JsonCursor<'_>) -> JsonResult<(usize, usize)> {
        for (index, known) in self.known.iter().enumerate().skip(place + 1).take(LEFT_OUT) {
            if cursor.is_key(&known.quoted) {
                return Ok((known.field, index + 1));
            }
        }
        self.looked_up(place, cursor)
    }

    fn looked_up(&mut self, place: usize, cursor: &mut JsonCursor<'_>) -> JsonResult<(usize, usize)> {
        let key = cursor.key()?;
        let field = self.position(&key).unwrap_or(OTHER);
        // A key with escapes is looked up each time, as its bytes are not those of its name.
        let Cow::Borrowed(name) = key else { return Ok((field, place)) };
        if let Some(index) = self.known.iter().position(|known| known.is(name, field)) {
            return Ok((field, index + 1));
        }
        if self.known.len() >= self.fields.len() + MOST_OTHERS {
            return Ok((field, place));
        }
        let quoted = QuotedKey::new(name);
        self.known.insert(place.min(self.known.len()), Member { quoted, field });
        Ok((field, place + 1))
    }

    fn position(&self, key: &[u8]) -> Option<usize> {
        if self.fields.len() > FEW_FIELDS {
            return self.by_name.get(key).copied();
        }
        self.fields.iter().position(|field| field.name().as_bytes() == key)
    }
}

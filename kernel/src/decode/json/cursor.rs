//! A cursor over JSON text: <https://www.rfc-editor.org/rfc/rfc8259>.
//!
//! Values are read directly into columns, without a tree in memory. Values without a column are checked but
//! not stored. The cursor is more lenient than the standard in one case: text may contain control characters
//! without an escape.

use std::borrow::Cow;

use super::quoted_key::QuotedKey;
use crate::decode::ascii::checked_text;

/// Maximum depth of skipped arrays and objects. Pulsar's clients have the same limit, because they use
/// Jackson.
const MAX_DEPTH: usize = 1000;

/// An error in a value.
#[derive(Debug)]
pub struct JsonFault {
    /// True if the text is not JSON; false if a value does not fit its schema.
    pub is_malformed: bool,
    /// Path of the value: the names of its fields, from the outermost to the innermost.
    pub path: String,
    /// Offset in the payload, in bytes.
    pub offset: usize,
    /// Error text of the form `expected ..., got ...`.
    pub why: String,
}

impl JsonFault {
    /// Prepends the field `name` to the path.
    pub fn below(mut self: Box<Self>, name: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

/// The result of reading a value.
pub type JsonResult<T> = Result<T, Box<JsonFault>>;

/// The kind of a value, which its first character determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueStart {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number
    Number,
    /// Text
    Text,
    /// `{`
    Object,
    /// `[`
    Array,
}

/// A position in a payload.
#[derive(Debug, Clone, Copy)]
pub struct JsonCursor<'a> {
    /// The payload, which is valid UTF-8. The type is `[u8]`, because the creation of a `str` would validate
    /// ASCII a second time.
    pub(super) text: &'a [u8],
    pub(super) offset: usize,
}

/// Returns a part of a payload as text, or the empty text if the part begins or ends inside a character.
pub fn as_text(part: &[u8]) -> &str {
    std::str::from_utf8(part).unwrap_or_default()
}

impl<'a> JsonCursor<'a> {
    /// Creates a cursor at the start of a payload, or returns an error if the payload is not UTF-8.
    pub fn new(payload: &'a [u8]) -> JsonResult<Self> {
        let text = checked_text(payload).map_err(|e| {
            let why = format!("expected UTF-8: {e}");
            Box::new(JsonFault { is_malformed: true, path: String::new(), offset: e.valid_up_to(), why })
        })?;
        Ok(Self { text, offset: 0 })
    }

    /// Returns the error that a value does not fit its schema.
    pub fn schema_fault<T>(&self, why: impl Into<String>) -> JsonResult<T> {
        Err(Box::new(JsonFault {
            is_malformed: false,
            path: String::new(),
            offset: self.offset,
            why: why.into(),
        }))
    }

    /// Returns the error that the value at the cursor is not the `expected` value.
    pub fn mismatch<T>(&self, expected: &str) -> JsonResult<T> {
        let rest = as_text(self.rest());
        let got: String = rest.chars().take(32).collect();
        self.schema_fault(format!("expected {expected}, got {got:?}"))
    }

    /// Returns the error that the text at the cursor is not JSON.
    #[cold]
    pub(super) fn syntax_fault<T>(&self, expected: &str) -> JsonResult<T> {
        let why = match as_text(self.rest()).chars().next() {
            Some(got) => format!("expected {expected}, got {got:?}"),
            None => format!("expected {expected}, got the end of the message"),
        };
        Err(Box::new(JsonFault { is_malformed: true, path: String::new(), offset: self.offset, why }))
    }

    /// Returns the text after the cursor.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.offset..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.offset).copied()
    }

    #[inline]
    fn peek_past_space(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.offset += 1,
                other => return other,
            }
        }
    }

    /// Skips white space, and returns whether the cursor is then at the end of the text.
    pub fn is_at_end(&mut self) -> bool {
        self.peek_past_space().is_none()
    }

    /// Returns the kind of the next value, and moves to its first character.
    // The function is inlined, because it is called for each value, and most values have the kind that their
    // column expects.
    #[inline(always)]
    pub fn start(&mut self) -> JsonResult<ValueStart> {
        Ok(match self.peek_past_space() {
            Some(b'"') => ValueStart::Text,
            Some(b'-' | b'0'..=b'9') => ValueStart::Number,
            Some(b'n') => ValueStart::Null,
            Some(b't' | b'f') => ValueStart::Boolean,
            Some(b'{') => ValueStart::Object,
            Some(b'[') => ValueStart::Array,
            _ => return self.syntax_fault("a value"),
        })
    }

    /// Enters the object or array at the cursor.
    #[inline]
    pub fn open(&mut self) {
        self.offset += 1;
    }

    /// Returns whether another item follows. Moves to this item, or past the character `close` if no item
    /// follows.
    #[inline]
    pub fn has_next(&mut self, first: bool, close: u8) -> JsonResult<bool> {
        match self.peek_past_space() {
            Some(byte) if byte == close => {
                self.offset += 1;
                Ok(false)
            }
            Some(_) if first => Ok(true),
            Some(b',') => {
                self.offset += 1;
                Ok(true)
            }
            _ => self.syntax_fault(if close == b'}' { "a comma or }" } else { "a comma or ]" }),
        }
    }

    /// Reads the key of a member, and moves to its value.
    #[inline]
    pub fn key(&mut self) -> JsonResult<Cow<'a, [u8]>> {
        if self.peek_past_space() != Some(b'"') {
            return self.syntax_fault("a key in quotes");
        }
        let key = self.text()?;
        if self.peek_past_space() != Some(b':') {
            return self.syntax_fault("a colon");
        }
        self.offset += 1;
        Ok(key)
    }

    /// Returns whether the next characters are `key` with quotes and colon. If so, moves past these
    /// characters.
    #[inline]
    pub fn is_key(&mut self, key: &QuotedKey) -> bool {
        self.peek_past_space();
        let is_key = key.is_prefix_of(self.rest());
        if is_key {
            self.offset += key.len();
        }
        is_key
    }

    /// Reads `null`.
    #[inline]
    pub fn null(&mut self) -> JsonResult<()> {
        self.word("null")
    }

    /// Reads a boolean.
    #[inline]
    pub fn boolean(&mut self) -> JsonResult<bool> {
        let value = self.peek() == Some(b't');
        self.word(if value { "true" } else { "false" })?;
        Ok(value)
    }

    #[inline]
    fn word(&mut self, word: &'static str) -> JsonResult<()> {
        if !self.rest().starts_with(word.as_bytes()) {
            return self.syntax_fault(word);
        }
        self.offset += word.len();
        Ok(())
    }

    /// Skips a value.
    pub fn skip(&mut self) -> JsonResult<()> {
        self.skip_below(0)
    }

    fn skip_below(&mut self, depth: usize) -> JsonResult<()> {
        if depth > MAX_DEPTH {
            return self
                .schema_fault(format!("expected at most {MAX_DEPTH} nested arrays and objects, got more"));
        }
        match self.start()? {
            ValueStart::Null => self.null(),
            ValueStart::Boolean => self.boolean().map(|_| ()),
            ValueStart::Number => self.skip_number(),
            ValueStart::Text => self.skip_text(),
            ValueStart::Object => self.members(|cursor, _| cursor.skip_below(depth + 1)),
            ValueStart::Array => self.items(|cursor| cursor.skip_below(depth + 1)),
        }
    }

    /// Calls `member` with the key of each member of the object at the cursor. The cursor is then at the
    /// member's value.
    #[inline]
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, [u8]>) -> JsonResult<()>,
    ) -> JsonResult<()> {
        self.open();
        let mut first = true;
        while self.has_next(first, b'}')? {
            first = false;
            let key = self.key()?;
            member(self, key)?;
        }
        Ok(())
    }

    /// Calls `item` for each item of the array at the cursor. The cursor is then at the item.
    #[inline]
    pub fn items(&mut self, mut item: impl FnMut(&mut Self) -> JsonResult<()>) -> JsonResult<()> {
        self.open();
        let mut first = true;
        while self.has_next(first, b']')? {
            first = false;
            item(self)?;
        }
        Ok(())
    }
}

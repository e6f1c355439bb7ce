//! JSON text, token by token: <https://www.rfc-editor.org/rfc/rfc8259>.
//!
//! Nothing is built: values go straight into columns, and what no column wants is only checked. More lenient than
//! the standard in one thing, control characters inside text need not be escaped.

use std::borrow::Cow;

use super::quoted_key::QuotedKey;
use crate::decode::ascii::checked_text;

/// How deep arrays and objects that are skipped may be nested, as in Jackson, which Pulsar's clients use.
const MAX_DEPTH: usize = 1000;

/// What is wrong with a value.
#[derive(Debug)]
pub struct JsonFault {
    /// The text is no JSON; else it does not fit its schema.
    pub malformed: bool,
    /// Field names, outermost first.
    pub path: String,
    /// Byte of the payload.
    pub at: usize,
    /// Expected and got.
    pub why: String,
}

impl JsonFault {
    /// Below the field `name`.
    pub fn below(mut self: Box<Self>, name: &str) -> Box<Self> {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

/// Result of reading one value.
pub type JsonResult<T> = Result<T, Box<JsonFault>>;

/// What a value is, by its first character.
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

/// A place in a payload.
#[derive(Debug, Clone, Copy)]
pub struct JsonCursor<'a> {
    /// All of it is UTF-8. Bytes, since a text would have to be decoded once more where it is ASCII.
    pub(super) text: &'a [u8],
    pub(super) at: usize,
}

/// A part of a text that begins and ends with a character; nothing when it does not.
pub fn as_text(part: &[u8]) -> &str {
    std::str::from_utf8(part).unwrap_or_default()
}

impl<'a> JsonCursor<'a> {
    /// At the start of a payload; an error when it is not UTF-8.
    pub fn new(payload: &'a [u8]) -> JsonResult<Self> {
        let text = checked_text(payload).map_err(|e| {
            let why = format!("expected UTF-8: {e}");
            Box::new(JsonFault { malformed: true, path: String::new(), at: e.valid_up_to(), why })
        })?;
        Ok(Self { text, at: 0 })
    }

    /// A value that does not fit its schema.
    pub fn misfit<T>(&self, why: impl Into<String>) -> JsonResult<T> {
        Err(Box::new(JsonFault { malformed: false, path: String::new(), at: self.at, why: why.into() }))
    }

    /// The value here is not `expected`.
    pub fn expected<T>(&self, expected: &str) -> JsonResult<T> {
        let rest = as_text(self.rest());
        let got: String = rest.chars().take(32).collect();
        self.misfit(format!("expected {expected}, got {got:?}"))
    }

    /// The text is no JSON here.
    #[cold]
    pub(super) fn malformed<T>(&self, expected: &str) -> JsonResult<T> {
        let why = match as_text(self.rest()).chars().next() {
            Some(got) => format!("expected {expected}, got {got:?}"),
            None => format!("expected {expected}, but the text is cut off"),
        };
        Err(Box::new(JsonFault { malformed: true, path: String::new(), at: self.at, why }))
    }

    /// What lies behind.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn peek_past_space(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Go past white space; whether the text ends there.
    pub fn is_at_end(&mut self) -> bool {
        self.peek_past_space().is_none()
    }

    /// What the next value is; its first character comes next.
    // Called for each value, of which most are of the kind that their column expects.
    #[inline(always)]
    pub fn start(&mut self) -> JsonResult<ValueStart> {
        Ok(match self.peek_past_space() {
            Some(b'"') => ValueStart::Text,
            Some(b'-' | b'0'..=b'9') => ValueStart::Number,
            Some(b'n') => ValueStart::Null,
            Some(b't' | b'f') => ValueStart::Boolean,
            Some(b'{') => ValueStart::Object,
            Some(b'[') => ValueStart::Array,
            _ => return self.malformed("a value"),
        })
    }

    /// Go into the object or array here.
    #[inline]
    pub fn open(&mut self) {
        self.at += 1;
    }

    /// Whether another item follows, which comes next then; else go past `close`.
    #[inline]
    pub fn more(&mut self, first: bool, close: u8) -> JsonResult<bool> {
        match self.peek_past_space() {
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            Some(_) if first => Ok(true),
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            _ => self.malformed(if close == b'}' { "a comma or }" } else { "a comma or ]" }),
        }
    }

    /// The key of a member; its value comes next.
    #[inline]
    pub fn key(&mut self) -> JsonResult<Cow<'a, [u8]>> {
        if self.peek_past_space() != Some(b'"') {
            return self.malformed("a key in quotes");
        }
        let key = self.text()?;
        if self.peek_past_space() != Some(b':') {
            return self.malformed("a colon");
        }
        self.at += 1;
        Ok(key)
    }

    /// Go past a key with its quotes and colon, if exactly that comes next.
    #[inline]
    pub fn is_key(&mut self, key: &QuotedKey) -> bool {
        self.peek_past_space();
        let is_key = key.begins(self.rest());
        if is_key {
            self.at += key.len();
        }
        is_key
    }

    /// Go past `null`.
    #[inline]
    pub fn null(&mut self) -> JsonResult<()> {
        self.word("null")
    }

    /// The boolean here.
    #[inline]
    pub fn boolean(&mut self) -> JsonResult<bool> {
        let value = self.peek() == Some(b't');
        self.word(if value { "true" } else { "false" })?;
        Ok(value)
    }

    #[inline]
    fn word(&mut self, word: &'static str) -> JsonResult<()> {
        if !self.rest().starts_with(word.as_bytes()) {
            return self.malformed(word);
        }
        self.at += word.len();
        Ok(())
    }

    /// Go past a value that no column wants.
    pub fn skip(&mut self) -> JsonResult<()> {
        self.skip_below(0)
    }

    fn skip_below(&mut self, depth: usize) -> JsonResult<()> {
        if depth > MAX_DEPTH {
            return self.misfit(format!("expected arrays and objects at most {MAX_DEPTH} deep, got more"));
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

    /// Call `member` for each member of the object here, with its key and at its value.
    #[inline]
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, [u8]>) -> JsonResult<()>,
    ) -> JsonResult<()> {
        self.open();
        let mut first = true;
        while self.more(first, b'}')? {
            first = false;
            let key = self.key()?;
            member(self, key)?;
        }
        Ok(())
    }

    /// Call `item` at each item of the array here.
    #[inline]
    pub fn items(&mut self, mut item: impl FnMut(&mut Self) -> JsonResult<()>) -> JsonResult<()> {
        self.open();
        let mut first = true;
        while self.more(first, b']')? {
            first = false;
            item(self)?;
        }
        Ok(())
    }
}

//! The one error of the kernel. What a user sees is made from it in Python, which adds the topic.

use std::fmt;

/// Bytes of a message: some repeat the value that does not fit, which may be megabytes.
const MAX_MESSAGE: usize = 2000;

/// Who has to act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A checksum, length or codec that does not fit: the bytes are damaged.
    Corrupt,
    /// Whole bytes, but a value that does not fit its schema.
    Payload,
    /// Valid, but beyond what this version decodes.
    Unsupported,
    /// Encrypted, and not to be decrypted with the keys given.
    Encrypted,
    /// A schema that cannot be used, or an unknown schema version.
    Schema,
    /// One message above the maximum message size.
    TooLarge,
}

impl ErrorKind {
    /// The name under which Python sees the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Payload => "payload",
            Self::Unsupported => "unsupported",
            Self::Encrypted => "encrypted",
            Self::Schema => "schema",
            Self::TooLarge => "too_large",
        }
    }
}

/// Which message an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRef {
    /// BookKeeper ledger.
    pub ledger: i64,
    /// Entry in the ledger.
    pub entry: i64,
    /// Index in the batched entry; -1 outside a batch or for the entry as a whole.
    pub batch_index: i32,
}

impl fmt::Display for MessageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ledger, self.entry)?;
        if self.batch_index >= 0 {
            write!(f, ":{}", self.batch_index)?;
        }
        Ok(())
    }
}

/// What the kernel refuses, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KernelError {
    /// Who has to act.
    pub kind: ErrorKind,
    /// Expected, got and where, in one sentence.
    pub message: String,
    /// The message, when there is one.
    pub at: Option<MessageRef>,
    /// Row of the record batch given to the encoder.
    pub row: Option<usize>,
}

impl KernelError {
    /// An error that is not about one message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE {
            let end = (0..=MAX_MESSAGE).rev().find(|end| message.is_char_boundary(*end));
            message.truncate(end.unwrap_or(0));
            message.push_str("...");
        }
        Self { kind, message, at: None, row: None }
    }

    /// Damaged bytes.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// A schema that cannot be used.
    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Schema, message)
    }

    /// A value that does not fit its schema.
    pub fn payload(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Payload, message)
    }

    /// Name the message, unless a closer place is already named.
    pub fn at(mut self, at: MessageRef) -> Self {
        if self.at.is_none() {
            self.message = format!("message {at}: {}", self.message);
            self.at = Some(at);
        }
        self
    }

    /// Name the part of the message, such as its key.
    pub fn within(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// Name the row of the input batch.
    pub fn in_row(mut self, row: usize) -> Self {
        if self.row.is_none() {
            self.message = format!("row {row}: {}", self.message);
            self.row = Some(row);
        }
        self
    }
}

/// Result of a kernel operation.
pub type Result<T> = std::result::Result<T, KernelError>;

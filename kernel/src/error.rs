//! The only error type of the kernel. Python adds the topic to it, and raises the error that users see.

use std::fmt;

/// Largest length of an error message, in bytes. Some errors repeat the value that does not fit, which may be
/// megabytes.
const MAX_MESSAGE: usize = 2000;

/// The kind of an error, which determines who can correct the cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A checksum, length or codec does not fit: the bytes are damaged.
    Corrupt,
    /// The bytes are whole, but a value does not fit its schema.
    Payload,
    /// The bytes are valid, but this version cannot decode them.
    Unsupported,
    /// The message is encrypted, and the data keys do not decrypt it.
    Encrypted,
    /// The schema cannot be used, or its version is unknown.
    Schema,
    /// A message is larger than the maximum message size.
    TooLarge,
}

impl ErrorKind {
    /// Returns the name of the kind in Python.
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

/// The position of a message, for errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRef {
    /// The BookKeeper ledger.
    pub ledger: i64,
    /// The entry in the ledger.
    pub entry: i64,
    /// The index in the batched entry; -1 outside of a batch, or for the whole entry.
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

/// An error of the kernel, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KernelError {
    /// The kind, which determines who can correct the cause.
    pub kind: ErrorKind,
    /// A sentence with what was expected, what was found, and where.
    pub message: String,
    /// Position of the message that caused the error; `None` if it is unknown.
    pub at: Option<MessageRef>,
    /// The row of the record batch that was passed to the encoder.
    pub row: Option<usize>,
}

impl KernelError {
    /// Creates an error without a message or row. Messages are cut to `MAX_MESSAGE` bytes.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE {
            let end = (0..=MAX_MESSAGE).rev().find(|end| message.is_char_boundary(*end));
            message.truncate(end.unwrap_or(0));
            message.push_str("...");
        }
        Self { kind, message, at: None, row: None }
    }

    /// Creates an error for damaged bytes.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Creates an error for a schema that cannot be used.
    pub fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Schema, message)
    }

    /// Creates an error for a value that does not fit its schema.
    pub fn payload(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Payload, message)
    }

    /// Adds the position of the message, unless the error already contains a position.
    pub fn at(mut self, at: MessageRef) -> Self {
        if self.at.is_none() {
            self.message = format!("message {at}: {}", self.message);
            self.at = Some(at);
        }
        self
    }

    /// Adds the name of the message's part that caused the error, such as its key.
    pub fn within(mut self, part: &str) -> Self {
        self.message = format!("{part}: {}", self.message);
        self
    }

    /// Adds the row of the input batch, unless the error already contains a row.
    pub fn in_row(mut self, row: usize) -> Self {
        if self.row.is_none() {
            self.message = format!("row {row}: {}", self.message);
            self.row = Some(row);
        }
        self
    }
}

/// The result of a kernel operation.
pub type Result<T> = std::result::Result<T, KernelError>;

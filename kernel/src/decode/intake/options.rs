//! Limits of opening entries.

use crate::encryption::OnFailure;

/// Most bytes of a message that brokers take by default; also, most that are kept for the payload of the next entry.
pub const USUAL_MAX_MESSAGE: usize = 5 << 20;

/// A payload may unpack to so many times what the broker takes for a message: producers compare with that what they
/// have compressed.
const MAX_RATIO: usize = 16;

/// Options of [`Intake`].
#[derive(Debug, Clone, Copy)]
pub struct IntakeOptions {
    /// Chunked messages to keep chunks of at the same time; 0 is no limit.
    pub max_open_chunked: usize,
    /// What to do with an entry that cannot be decrypted.
    pub on_crypto_failure: OnFailure,
    /// Most bytes that the payload of one entry, or of one chunked message, may unpack to. `None`: 16 times 5 MiB,
    /// the largest message of a broker by default, or 16 times its bytes as stored, where that is more.
    pub max_uncompressed: Option<usize>,
}

impl IntakeOptions {
    /// Most bytes to which so many may unpack.
    pub fn uncompressed_limit(&self, packed: usize) -> usize {
        self.max_uncompressed.unwrap_or_else(|| packed.max(USUAL_MAX_MESSAGE).saturating_mul(MAX_RATIO))
    }
}

impl Default for IntakeOptions {
    fn default() -> Self {
        Self { max_open_chunked: 10, on_crypto_failure: OnFailure::Fail, max_uncompressed: None }
    }
}

//! Options and limits for opening entries.

use crate::encryption::OnFailure;

/// Default limit of brokers for the bytes of a message, and the largest buffer that is reused for the next entry.
pub const USUAL_MAX_MESSAGE: usize = 5 << 20;

/// Largest ratio of a payload's decompressed size to the broker's limit, which producers apply to compressed bytes.
const MAX_RATIO: usize = 16;

/// Options of [`Intake`].
#[derive(Debug, Clone, Copy)]
pub struct IntakeOptions {
    /// Largest number of chunked messages whose chunks are in memory at the same time; 0 is no limit.
    pub max_open_chunked: usize,
    /// Handling of an entry that cannot be decrypted.
    pub on_crypto_failure: OnFailure,
    /// Largest decompressed size in bytes of the payload of an entry or chunked message.
    ///
    /// `None` is 16 times 5 MiB, which is the default limit of brokers, or 16 times the compressed size if this is
    /// more.
    pub max_uncompressed: Option<usize>,
}

impl IntakeOptions {
    /// Returns the largest decompressed size for `packed` compressed bytes.
    pub fn uncompressed_limit(&self, packed: usize) -> usize {
        self.max_uncompressed.unwrap_or_else(|| packed.max(USUAL_MAX_MESSAGE).saturating_mul(MAX_RATIO))
    }
}

impl Default for IntakeOptions {
    fn default() -> Self {
        Self { max_open_chunked: 10, on_crypto_failure: OnFailure::Fail, max_uncompressed: None }
    }
}

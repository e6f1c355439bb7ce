//! Options and limits for opening entries.

use crate::encryption::OnFailure;

/// Brokers' default limit for the size of a message, in bytes. Buffers up to this size are reused for the
/// next entry.
pub const USUAL_MAX_MESSAGE: usize = 5 << 20;

/// Maximum ratio of a payload's decompressed size to the broker's limit. Producers apply that limit to the
/// compressed bytes.
const MAX_RATIO: usize = 16;

/// Options of [`Intake`].
#[derive(Debug, Clone, Copy)]
pub struct IntakeOptions {
    /// Maximum number of chunked messages whose chunks are in memory at the same time; 0 means no limit.
    pub max_open_chunked: usize,
    /// Handling of an entry that cannot be decrypted.
    pub on_crypto_failure: OnFailure,
    /// Largest decompressed size in bytes of the payload of an entry or chunked message.
    ///
    /// `None` means 16 times 5 MiB (5 MiB is the default limit of brokers), or 16 times the compressed size
    /// if that is more.
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

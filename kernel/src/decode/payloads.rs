//! The payloads behind an unfinished batch, kept to find the one that a batch-wise decoder choked on.

use crate::error::{KernelError, MessageRef, Result};

/// Payload bytes in row order; a null value has none.
#[derive(Debug, Default)]
pub struct Payloads {
    bytes: Vec<u8>,
    /// Row of the batch and end offset in `bytes`.
    ends: Vec<(usize, usize)>,
}

impl Payloads {
    /// Keep the payload of row `row`.
    pub fn push(&mut self, row: usize, payload: &[u8]) {
        self.bytes.extend_from_slice(payload);
        self.ends.push((row, self.bytes.len()));
    }

    /// Forget all, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Replay one by one until `decode` fails, and name that message; `fallback` when none does.
    pub fn blame(
        &self,
        rows: &[MessageRef],
        fallback: KernelError,
        mut decode: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> KernelError {
        let mut start = 0;
        for &(row, end) in &self.ends {
            let payload = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            if let Err(error) = decode(row, payload) {
                return match rows.get(row) {
                    Some(at) => error.at(*at),
                    None => error,
                };
            }
        }
        fallback
    }
}

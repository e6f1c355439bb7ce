//! What the caller of a decoder supplies while an entry waits, and what it is told; `super` says why an entry waits.

use super::{ChunkedMessage, LostMessage, MissingChunks, Need, TransactionId};
use crate::decode::Decoder;
use crate::encryption::WrappedKey;
use crate::entry::{EntryBatch, Role};
use crate::error::Result;

impl Decoder {
    /// The wrapped data keys of the waiting entry: each must be given to `add_data_key` or
    /// `refuse_data_key`; one that is added is enough.
    pub fn needed_data_keys(&self) -> &[WrappedKey] {
        match &self.intake.need {
            Some(Need::DataKeys(keys)) => keys,
            _ => &[],
        }
    }

    /// Make a data key known.
    pub fn add_data_key(&mut self, wrapped: &[u8], key: &[u8]) {
        self.intake.keys.add(wrapped, key);
        self.keys_changed();
    }

    /// Say why a data key cannot be unwrapped; errors repeat it.
    pub fn refuse_data_key(&mut self, wrapped: &[u8], why: &str) {
        self.intake.keys.refuse(wrapped, why);
        self.keys_changed();
    }

    fn keys_changed(&mut self) {
        if matches!(self.intake.need, Some(Need::DataKeys(_))) {
            self.intake.need = None;
        }
    }

    /// The message whose earlier chunks must be looked for with `look_back`.
    pub fn missing_chunks(&self) -> Option<&MissingChunks> {
        match &self.intake.need {
            Some(Need::Chunks(missing)) => Some(missing),
            _ => None,
        }
    }

    /// Search `entries`, which lie in order before the waiting message, for its chunks; `restart` begins a
    /// search that reaches further back. True when its first chunk was found.
    pub fn look_back(&mut self, entries: &mut EntryBatch, restart: bool) -> Result<bool> {
        self.intake.chunks.look_back(entries, restart)
    }

    /// Go on with what was found.
    pub fn end_look_back(&mut self) {
        if !matches!(self.intake.need, Some(Need::Chunks(_))) {
            return;
        }
        self.intake.need = None;
        if let Some(waiting) = self.queue.front_mut() {
            waiting.role = Role::AfterLookBack;
        }
        for chunk in self.intake.chunks.end_look_back().into_iter().rev() {
            self.queue.push_front(chunk);
        }
    }

    /// Chunked messages of the range, as far as they are remembered: open ones, and such that have ended.
    pub fn chunked_messages(&self) -> Vec<ChunkedMessage> {
        self.intake.chunks.messages()
    }

    /// Chunked messages of the range that will never be whole, since the last call.
    pub fn take_lost(&mut self) -> Vec<LostMessage> {
        self.intake.chunks.take_lost()
    }

    /// Entries of the range that were discarded because they cannot be decrypted.
    pub fn discarded(&self) -> u64 {
        self.intake.discarded
    }

    /// The transactions of which must be said whether they were aborted, that of the waiting entry among them.
    pub fn undecided_transactions(&self) -> &[TransactionId] {
        match &self.intake.need {
            Some(Need::Transactions(ids)) => ids,
            _ => &[],
        }
    }

    /// Say whether the broker counts the transaction as aborted; if not, its messages are visible.
    pub fn add_transaction(&mut self, id: TransactionId, aborted: bool) {
        self.intake.transactions.add(id, aborted);
        if let Some(Need::Transactions(ids)) = &mut self.intake.need {
            ids.retain(|waiting| *waiting != id);
            if ids.is_empty() {
                self.intake.need = None;
            }
        }
    }

    /// Drop the entry that waits for a transaction and all behind it: another source gives them, which shows
    /// only visible messages. Returns the ledger and the entry at which to go on; `None` when none waits.
    pub fn give_up_transactions(&mut self) -> Option<(i64, i64)> {
        if self.undecided_transactions().is_empty() {
            return None;
        }
        self.intake.need = None;
        let queue = std::mem::take(&mut self.queue);
        queue.iter().find(|entry| entry.role != Role::EarlierChunk).map(|entry| (entry.ledger, entry.entry))
    }

    /// An entry waits for transactions: look for their markers in what was pushed; false when it waits still.
    pub(in crate::decode) fn learn_from_queue(&mut self) -> bool {
        if !matches!(self.intake.need, Some(Need::Transactions(_))) {
            return false;
        }
        let unknown = self.intake.transactions.learn_from_queue(&mut self.queue, &self.selection);
        self.intake.need = (!unknown.is_empty()).then_some(Need::Transactions(unknown));
        self.intake.need.is_none()
    }
}

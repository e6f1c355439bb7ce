//! The functions with which a decoder's caller supplies the needs of a waiting entry. The documentation of
//! `super` explains when an entry waits.

use super::{ChunkedMessage, LostMessage, MissingChunks, Need, TransactionId};
use crate::decode::Decoder;
use crate::encryption::WrappedKey;
use crate::entry::{EntryBatch, Role};
use crate::error::Result;

impl Decoder {
    /// Returns the wrapped data keys of the waiting entry.
    ///
    /// Pass one of them to `add_data_key`, or each of them to `refuse_data_key`.
    pub fn needed_data_keys(&self) -> &[WrappedKey] {
        match &self.intake.need {
            Some(Need::DataKeys(keys)) => keys,
            _ => &[],
        }
    }

    /// Adds an unwrapped data key.
    pub fn add_data_key(&mut self, wrapped: &[u8], key: &[u8]) {
        self.intake.keys.add(wrapped, key);
        self.keys_changed();
    }

    /// Refuses a data key that cannot be unwrapped; errors contain the reason `why`.
    pub fn refuse_data_key(&mut self, wrapped: &[u8], why: &str) {
        self.intake.keys.refuse(wrapped, why);
        self.keys_changed();
    }

    fn keys_changed(&mut self) {
        if matches!(self.intake.need, Some(Need::DataKeys(_))) {
            self.intake.need = None;
        }
    }

    /// Returns the message whose earlier chunks must be searched with `look_back`.
    pub fn missing_chunks(&self) -> Option<&MissingChunks> {
        match &self.intake.need {
            Some(Need::Chunks(missing)) => Some(missing),
            _ => None,
        }
    }

    /// Searches `entries` for the chunks of the waiting message. The entries must be in order, and before the
    /// message.
    ///
    /// If `restart` is set, a new search begins, which starts further back. Returns true if the first chunk
    /// was found.
    pub fn look_back(&mut self, entries: &mut EntryBatch, restart: bool) -> Result<bool> {
        self.intake.chunks.look_back(entries, restart)
    }

    /// Ends the search, and adds the chunks that were found to the queue.
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

    /// Returns the chunked messages of the range that are in memory, in all states.
    pub fn chunked_messages(&self) -> Vec<ChunkedMessage> {
        self.intake.chunks.messages()
    }

    /// Returns the chunked messages that were lost since the last call.
    pub fn take_lost(&mut self) -> Vec<LostMessage> {
        self.intake.chunks.take_lost()
    }

    /// Returns the number of entries of the range that were discarded because they cannot be decrypted.
    pub fn discarded(&self) -> u64 {
        self.intake.discarded
    }

    /// Returns the transactions whose outcomes are needed, including the waiting entry's transaction.
    pub fn undecided_transactions(&self) -> &[TransactionId] {
        match &self.intake.need {
            Some(Need::Transactions(ids)) => ids,
            _ => &[],
        }
    }

    /// Records the outcome of a transaction. If `aborted` is false, the messages of the transaction are
    /// visible.
    pub fn add_transaction(&mut self, id: TransactionId, aborted: bool) {
        self.intake.transactions.add(id, aborted);
        if let Some(Need::Transactions(ids)) = &mut self.intake.need {
            ids.retain(|waiting| *waiting != id);
            if ids.is_empty() {
                self.intake.need = None;
            }
        }
    }

    /// Drops the entry that waits for a transaction and all entries after it.
    ///
    /// The caller must read the dropped entries from another source, which returns only visible messages.
    /// Returns the ledger and the entry at which the other source must start, or `None` if no entry waits for
    /// a transaction.
    pub fn give_up_transactions(&mut self) -> Option<(i64, i64)> {
        if self.undecided_transactions().is_empty() {
            return None;
        }
        self.intake.need = None;
        let queue = std::mem::take(&mut self.queue);
        queue.iter().find(|entry| entry.role != Role::EarlierChunk).map(|entry| (entry.ledger, entry.entry))
    }

    /// Searches the queue for abort markers of the needed transactions; returns true if the waiting entry can
    /// continue.
    pub(in crate::decode) fn learn_from_queue(&mut self) -> bool {
        if !matches!(self.intake.need, Some(Need::Transactions(_))) {
            return false;
        }
        let unknown = self.intake.transactions.learn_from_queue(&mut self.queue, &self.selection);
        self.intake.need = (!unknown.is_empty()).then_some(Need::Transactions(unknown));
        self.intake.need.is_none()
    }
}

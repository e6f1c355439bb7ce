//! Outcomes of the transactions in entries that no broker has filtered.
//!
//! Bookies and offloaded ledgers also return the messages of aborted transactions. The decoder's caller
//! queries the broker for the outcome of a transaction. An abort marker among the entries also determines the
//! outcome. A commit marker does not determine the outcome, because brokers abort a transaction again if one
//! of its messages arrives after the commit.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::entry::Entry;
use crate::metadata::MessageMetadata;
use crate::selection::Selection;

/// Most and least significant bits of a transaction id. They are the number of the coordinator, and the
/// number that the coordinator assigned to the transaction.
pub type TransactionId = (u64, u64);

/// `marker_type` of the marker that ends an aborted transaction (MarkerType of PulsarMarkers.proto).
const ABORT_MARKER: u64 = 22;

/// The known outcomes of transactions.
#[derive(Debug, Default)]
pub struct Transactions {
    /// Outcome of each transaction: true if the transaction was aborted.
    outcomes: HashMap<TransactionId, bool>,
}

impl Transactions {
    /// Returns whether a message belongs to an aborted transaction, or the transaction as `Err` if its
    /// outcome is unknown.
    pub fn is_aborted(&self, metadata: &MessageMetadata<'_>) -> std::result::Result<bool, TransactionId> {
        match metadata.transaction() {
            None => Ok(false),
            Some(id) => self.outcomes.get(&id).copied().ok_or(id),
        }
    }

    /// Records the outcome of a transaction.
    pub fn add(&mut self, id: TransactionId, aborted: bool) {
        self.outcomes.insert(id, aborted);
    }

    /// Records the outcome in an abort marker; other entries have no effect.
    pub fn learn(&mut self, metadata: &MessageMetadata<'_>) {
        if let (Some(ABORT_MARKER), Some(id)) = (metadata.marker_type, metadata.transaction()) {
            self.add(id, true);
        }
    }

    /// Records the outcomes in all abort markers of `entries`.
    ///
    /// Returns the transactions of wanted messages without a known outcome, in the order of their first
    /// messages. Damaged entries are skipped without an error, because they may never be needed.
    pub fn learn_from_queue(
        &mut self,
        entries: &mut VecDeque<Entry>,
        selection: &Selection,
    ) -> Vec<TransactionId> {
        let mut unknown = Vec::new();
        for entry in entries.iter_mut().filter(|entry| entry.unfiltered) {
            if entry.verify().is_err() {
                continue;
            }
            let Ok(parts) = entry.parts() else { continue };
            let Some(id) = parts.metadata.transaction() else { continue };
            let inside = selection.range.touches(entry.ledger, entry.entry, i32::MAX);
            self.learn(&parts.metadata);
            let message = parts.metadata.marker_type.is_none();
            if message && inside && selection.filter.may_want(&parts.metadata) {
                unknown.push(id);
            }
        }
        let mut seen = HashSet::new();
        unknown.retain(|id| !self.outcomes.contains_key(id) && seen.insert(*id));
        unknown
    }
}

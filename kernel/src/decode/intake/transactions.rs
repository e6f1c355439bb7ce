//! Messages of transactions in entries that no broker has filtered.
//!
//! A bookie or an offloaded ledger gives the messages of aborted transactions as well. Whether one was aborted
//! is known to the broker, which the decoder's caller asks; abort markers among the entries tell it too. A commit
//! marker does not: brokers abort a transaction once more when one of its messages arrives after it ended.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::entry::Entry;
use crate::metadata::MessageMetadata;
use crate::selection::Selection;

/// Most and least significant bits: the coordinator, and its number for the transaction.
pub type TransactionId = (u64, u64);

/// `marker_type` of the marker that ends an aborted transaction (MarkerType of PulsarMarkers.proto).
const ABORT_MARKER: u64 = 22;

/// Transactions of this range, and whether they were aborted.
#[derive(Debug, Default)]
pub struct Transactions {
    aborted: HashMap<TransactionId, bool>,
}

impl Transactions {
    /// Whether the message is one of an aborted transaction; `Err` names a transaction that is not known.
    pub fn hides(&self, metadata: &MessageMetadata<'_>) -> std::result::Result<bool, TransactionId> {
        match metadata.transaction() {
            None => Ok(false),
            Some(id) => self.aborted.get(&id).copied().ok_or(id),
        }
    }

    /// Remember the outcome of a transaction.
    pub fn add(&mut self, id: TransactionId, aborted: bool) {
        self.aborted.insert(id, aborted);
    }

    /// Learn from an abort marker; everything else tells nothing.
    pub fn learn(&mut self, metadata: &MessageMetadata<'_>) {
        if let (Some(ABORT_MARKER), Some(id)) = (metadata.marker_type, metadata.transaction()) {
            self.add(id, true);
        }
    }

    /// Learn from the abort markers among `entries`; returns the transactions of wanted messages that are still
    /// not known, in order of first sight. What is damaged is passed over: it may never be looked at.
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
        unknown.retain(|id| !self.aborted.contains_key(id) && seen.insert(*id));
        unknown
    }
}

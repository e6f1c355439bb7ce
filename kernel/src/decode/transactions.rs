//! Messages of transactions in entries that no broker has filtered.
//!
//! A bookie or an offloaded ledger gives the messages of aborted transactions as well. Whether one was aborted
//! is known to the broker, which the decoder's caller asks; abort markers among the entries tell it too. A commit
//! marker does not: brokers abort a transaction once more when one of its messages arrives after it ended.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Decoder;
use super::intake::Need;
use crate::entry::{Entry, Role};
use crate::metadata::MessageMetadata;
use crate::select::Selection;

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
    pub fn look_ahead(&mut self, entries: &mut VecDeque<Entry>, wanted: &Selection) -> Vec<TransactionId> {
        let mut unknown = Vec::new();
        for entry in entries.iter_mut().filter(|entry| entry.unfiltered) {
            if entry.verify().is_err() {
                continue;
            }
            let Ok(parts) = entry.parts() else { continue };
            let Some(id) = parts.metadata.transaction() else { continue };
            let inside = wanted.range.touches(entry.ledger, entry.entry, i32::MAX);
            self.learn(&parts.metadata);
            let message = parts.metadata.marker_type.is_none();
            if message && inside && wanted.filter.may_want(&parts.metadata) {
                unknown.push(id);
            }
        }
        let mut seen = HashSet::new();
        unknown.retain(|id| !self.aborted.contains_key(id) && seen.insert(*id));
        unknown
    }
}

impl Decoder {
    /// The transactions of which must be said whether they were aborted, that of the waiting entry among them.
    pub fn wanted_transactions(&self) -> &[TransactionId] {
        match &self.intake.need {
            Some(Need::Transactions(ids)) => ids,
            _ => &[],
        }
    }

    /// Say whether the broker counts the transaction as aborted; if not, its messages are visible.
    pub fn add_transaction(&mut self, id: TransactionId, aborted: bool) {
        self.intake.transactions.add(id, aborted);
        if let Some(Need::Transactions(ids)) = &mut self.intake.need {
            ids.retain(|each| *each != id);
            if ids.is_empty() {
                self.intake.need = None;
            }
        }
    }

    /// Drop the entry that waits for a transaction and all behind it: another source gives them, which shows
    /// only visible messages. Returns the ledger and the entry at which to go on; `None` when none waits.
    pub fn give_up_transactions(&mut self) -> Option<(i64, i64)> {
        if self.wanted_transactions().is_empty() {
            return None;
        }
        self.intake.need = None;
        let queue = std::mem::take(&mut self.queue);
        queue.iter().find(|entry| entry.role != Role::Earlier).map(|entry| (entry.ledger, entry.entry))
    }

    /// An entry waits for transactions: look for their markers in what was pushed; false when it waits still.
    pub(super) fn look_ahead(&mut self) -> bool {
        if !matches!(self.intake.need, Some(Need::Transactions(_))) {
            return false;
        }
        let unknown = self.intake.transactions.look_ahead(&mut self.queue, &self.wanted);
        self.intake.need = (!unknown.is_empty()).then_some(Need::Transactions(unknown));
        self.intake.need.is_none()
    }
}

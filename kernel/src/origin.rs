//! The cluster in which an entry was produced, and where it lies there.
//!
//! Replicators name their cluster in `replicated_from`. Those of Pulsar 3.0.11, 3.3.6, 4.0.4 and later also add a property
//! to the entry, for deduplication: the position that it has in their cluster, as `ledger:entry`.

use crate::entry::{Entry, EntryBatch};

const SOURCE_POSITION: &[u8] = b"__MSG_PROP_REPL_SOURCE_POSITION";

/// Of one entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Ledger and entry here.
    pub at: (i64, i64),
    /// Unix milliseconds by the producer's clock; `None` where damage hides it.
    pub published: Option<i64>,
    /// The cluster that it was replicated from; `None` for an entry that was produced here.
    pub cluster: Option<String>,
    /// Ledger and entry in that cluster, if its replicator told.
    pub source: Option<(i64, i64)>,
}

/// Of each entry, in their order.
pub fn origins(entries: &EntryBatch) -> Vec<Origin> {
    entries.entries.iter().map(origin).collect()
}

fn origin(entry: &Entry) -> Origin {
    let at = (entry.ledger, entry.entry);
    let Ok(parts) = entry.parts() else {
        return Origin { at, published: None, cluster: None, source: None };
    };
    let metadata = parts.metadata;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    // A message that was read and written again may bring a property of its first way: the replicator's is the last.
    let source = metadata.properties.iter().rev().find(|(key, _)| *key == SOURCE_POSITION);
    Origin {
        at,
        published: i64::try_from(metadata.publish_time).ok(),
        cluster: metadata.replicated_from.map(text),
        source: metadata.replicated_from.and(source).and_then(|(_, value)| position(value)),
    }
}

fn position(text: &[u8]) -> Option<(i64, i64)> {
    let (ledger, entry) = std::str::from_utf8(text).ok()?.split_once(':')?;
    Some((ledger.parse().ok()?, entry.parse().ok()?))
}

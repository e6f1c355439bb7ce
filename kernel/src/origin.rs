//! The cluster in which an entry was produced, and the entry's position in that cluster.
//!
//! Replicators write the name of their cluster into `replicated_from`. Replicators of Pulsar 3.0.11, 3.3.6,
//! 4.0.4 and later also add a property for deduplication: the position of the entry in their cluster, as
//! `ledger:entry`.

use crate::entry::{Entry, EntryBatch};

const SOURCE_POSITION: &[u8] = b"__MSG_PROP_REPL_SOURCE_POSITION";

/// The origin of one entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Origin {
    /// Ledger and entry in this cluster.
    pub at: (i64, i64),
    /// Unix milliseconds by the producer's clock; `None` if the entry is damaged.
    pub published: Option<i64>,
    /// The cluster that the entry was replicated from; `None` for an entry that was produced in this cluster.
    pub cluster: Option<String>,
    /// Ledger and entry in the cluster from which the entry was replicated; `None` if the replicator did not
    /// record them.
    pub source: Option<(i64, i64)>,
}

/// Returns the origin of each entry, in the same order.
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
    // A program that reads messages and writes them again may copy the property of an earlier replication.
    // The replicator of this entry added the last of these properties.
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

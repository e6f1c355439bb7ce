//! The properties that are checked for a ledger in tiered storage with any bytes.

use _kernel::tiered::StoredEntries;

/// The parts of an input.
pub struct Parts<'a> {
    pub step: usize,
    pub first: i64,
    pub last: i64,
    pub index: &'a [u8],
    pub data: &'a [u8],
}

impl<'a> Parts<'a> {
    pub fn split(input: &'a [u8]) -> Option<Self> {
        let (&[step, high, low, first, count], rest) = input.split_first_chunk::<5>()?;
        let (index, data) = rest.split_at_checked(usize::from(u16::from_be_bytes([high, low])))?;
        let first = i64::from(first);
        Some(Self { step: usize::from(step) * 16 + 1, first, last: first + i64::from(count), index, data })
    }
}

/// Reads the entries in pieces. Checks that the entries are returned in order and only once. The result must
/// be all entries, or an error.
pub fn read(entries: StoredEntries, given: &Parts<'_>) {
    let from = usize::try_from(entries.start).unwrap_or(usize::MAX);
    let to =
        entries.end.and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX).min(given.data.len());
    let bytes = given.data.get(from..to).unwrap_or_default();
    let mut entries = entries;
    let mut next = given.first;
    let mut failed = false;
    'pieces: for piece in bytes.chunks(given.step) {
        let mut piece = piece;
        loop {
            let Ok(batch) = entries.feed(piece) else {
                failed = true;
                break 'pieces;
            };
            for each in &batch.entries {
                assert_eq!(each.entry, next, "entries are in order");
                next += 1;
            }
            if !entries.has_more {
                break;
            }
            piece = &[];
        }
    }
    let whole = !failed && entries.finish().is_ok();
    assert_eq!(
        whole,
        next == given.last + 1,
        "expected all entries or an error, got {next} of {}",
        given.last
    );
    assert!(next <= given.last + 1, "expected no entry after the range");
}

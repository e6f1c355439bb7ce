//! The bytes of bookies, in pieces and over two connections. The first byte chooses the length of the pieces
//! and the expected digest. Then the same bytes are entries of a compacted ledger.
#![no_main]

use _kernel::bookie::compacted;
use _kernel::bookie::digest::Digest;
use _kernel::bookie::frames::LedgerFrames;
use _kernel::entry::{Entry, EntryBatch};
use libfuzzer_sys::fuzz_target;

const MAX_FRAME_BYTES: usize = 1 << 20;
const DIGESTS: [Digest; 4] = [Digest::Dummy, Digest::Crc32c, Digest::Crc32, Digest::EitherCrc];

fuzz_target!(|input: &[u8]| {
    let Some((&how, bytes)) = input.split_first() else { return };
    let (step, digest) = (1 + usize::from(how >> 2), DIGESTS[usize::from(how & 3)]);
    let mut frames = LedgerFrames::new(7, 0, 63, digest, MAX_FRAME_BYTES);
    let (mut next, mut taken) = (0, 0);
    for (number, piece) in bytes.chunks(step).enumerate() {
        if frames.feed((number / 64 % 2) as u32, piece).is_err() {
            break;
        }
        let buffered = frames.buffered_bytes();
        assert!(buffered + taken <= bytes.len(), "{buffered} and {taken} bytes of {}", bytes.len());
        for entry in frames.take().unwrap_or_default().entries {
            assert_eq!((entry.ledger, entry.entry), (7, next), "entries are in order, without a gap");
            (next, taken) = (next + 1, taken + entry.data.len());
        }
        assert_eq!(frames.next(), next);
    }
    let mut wrapped = EntryBatch::default();
    for (id, data) in bytes.chunks(step).enumerate() {
        wrapped.push(Entry::new(7, id as i64, data.to_vec()));
    }
    if compacted::unwrap(&mut wrapped, None).is_ok() {
        assert!(wrapped.entries.is_sorted_by_key(|entry| (entry.ledger, entry.entry)));
    }
});

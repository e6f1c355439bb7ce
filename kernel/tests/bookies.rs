//! Requests to bookies, and the order of the entries in their responses.

use _kernel::ErrorKind;
use _kernel::bookie::compacted;
use _kernel::bookie::digest::Digest;
use _kernel::bookie::frames::{DAMAGED, LedgerFrames, ReadOutcome};
use _kernel::bookie::protocol::{put_batch_read, put_read};
use _kernel::entry::{Entry, EntryBatch};
use _kernel::wire::{put_bytes, put_number};

const LEDGER: i64 = 7;
const MAX_FRAME: usize = 1 << 20;

fn data(entry: i64) -> Vec<u8> {
    format!("entry {entry}").repeat(1 + entry as usize % 3).into_bytes()
}

/// Return the bytes that a bookie stores for `entry`.
fn body(entry: i64, digest: Digest) -> Vec<u8> {
    let mut out = Vec::new();
    for number in [LEDGER, entry, entry - 1, 1000 + entry] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    let covered = [out.clone(), data(entry)].concat();
    match digest {
        Digest::Crc32c | Digest::EitherCrc => out.extend(crc32c::crc32c(&covered).to_be_bytes()),
        Digest::Crc32 => {
            let mut crc = flate2::Crc::new();
            crc.update(&covered);
            out.extend(i64::from(crc.sum()).to_be_bytes());
        }
        Digest::Dummy => {}
    }
    out.extend(data(entry));
    out
}

fn frame(operation: u8, code: i32, ledger: i64, entry: i64, rest: &[u8]) -> Vec<u8> {
    let mut out = ((24 + rest.len()) as u32).to_be_bytes().to_vec();
    out.extend([2, operation, 0, 0]);
    out.extend(code.to_be_bytes());
    out.extend(ledger.to_be_bytes());
    out.extend(entry.to_be_bytes());
    out.extend(rest);
    out
}

fn read_response(entry: i64) -> Vec<u8> {
    frame(2, 0, LEDGER, entry, &body(entry, Digest::Crc32c))
}

fn batch_response(request_id: i64, entries: std::ops::Range<i64>) -> Vec<u8> {
    let mut rest = request_id.to_be_bytes().to_vec();
    for entry in entries.clone() {
        let body = body(entry, Digest::Crc32c);
        rest.extend((body.len() as u32).to_be_bytes());
        rest.extend(body);
    }
    frame(7, 0, LEDGER, entries.start, &rest)
}

fn frames(first: i64, last: i64) -> LedgerFrames {
    LedgerFrames::new(LEDGER, first, last, Digest::Crc32c, MAX_FRAME)
}

fn take_entries(frames: &mut LedgerFrames) -> Vec<i64> {
    let entries = frames.take().unwrap_or_default().entries;
    for entry in &entries {
        assert_eq!((entry.ledger, entry.data.as_slice()), (LEDGER, data(entry.entry).as_slice()));
    }
    entries.iter().map(|entry| entry.entry).collect()
}

#[test]
fn requests_match_the_protocol() {
    let mut out = Vec::new();
    put_read(&mut out, 0x0102, 3);
    let expected = [0, 0, 0, 20, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 3];
    assert_eq!(out, expected);
    out.clear();
    put_batch_read(&mut out, 1, 2, 3, 4, 5);
    let expected = [
        vec![0, 0, 0, 40, 2, 7, 0, 0],
        1i64.to_be_bytes().to_vec(),
        2i64.to_be_bytes().to_vec(),
        3i64.to_be_bytes().to_vec(),
        4i32.to_be_bytes().to_vec(),
        5i64.to_be_bytes().to_vec(),
    ];
    assert_eq!(out, expected.concat());
}

#[test]
fn requests_stay_in_the_run_and_omit_buffered_entries() {
    let mut frames = frames(10, 19);
    frames.feed(0, &read_response(13)).unwrap();
    let mut expected = Vec::new();
    for entry in [10, 16, 19] {
        put_read(&mut expected, LEDGER, entry);
    }
    assert_eq!(frames.read_requests(10, 1000, 3, 1), expected);
    assert_eq!(frames.missing(10, 1000, 3, 1), 3);
    assert_eq!(frames.missing(0, 1000, 1, 1), 9);
    let mut expected = Vec::new();
    put_batch_read(&mut expected, LEDGER, 15, 8, 5, 99);
    assert_eq!(frames.batch_request(15, 1000, 8, 99), expected);
}

#[test]
fn a_group_is_one_request_that_omits_buffered_entries() {
    let mut frames = frames(10, 19);
    frames.feed(0, &[read_response(13), read_response(16), read_response(17)].concat()).unwrap();
    let mut expected = Vec::new();
    put_batch_read(&mut expected, LEDGER, 10, -2, 2, 4 << 20);
    put_read(&mut expected, LEDGER, 12);
    put_batch_read(&mut expected, LEDGER, 14, -2, 2, 4 << 20);
    put_batch_read(&mut expected, LEDGER, 18, -2, 2, 4 << 20);
    assert_eq!(frames.read_requests(10, 1000, 2, 2), expected);
    assert_eq!(frames.missing(10, 1000, 2, 2), 7);
    // The last group ends before `stop`, which is 15.
    let mut expected = Vec::new();
    put_batch_read(&mut expected, LEDGER, 10, -3, 3, 4 << 20);
    put_read(&mut expected, LEDGER, 14);
    assert_eq!(frames.read_requests(10, 15, 4, 3), expected);
    let mut expected = Vec::new();
    put_read(&mut expected, LEDGER, 19);
    assert_eq!(frames.read_requests(19, 1000, 2, 2), expected);
    assert_eq!(frames.missing(19, 1000, 2, 2), 1);
}

#[test]
fn only_missing_entries_of_a_group_are_reported() {
    let mut frames = frames(0, 9);
    assert_eq!(frames.feed(0, &batch_response(-2, 0..2)).unwrap(), []);
    assert_eq!((take_entries(&mut frames), frames.groups()), (vec![0, 1], 1));
    let alone = |entry, code| ReadOutcome { request_id: None, entry, code, count: 0 };
    // The bookie stops before the end, refuses the request, or returns a damaged entry.
    let mut short = batch_response(-3, 2..3);
    assert_eq!(frames.feed(0, &short).unwrap(), [alone(3, 0), alone(4, 0)]);
    let refused = frame(7, 2, LEDGER, 3, &(-2i64).to_be_bytes());
    assert_eq!(frames.feed(0, &refused).unwrap(), [alone(3, 2), alone(4, 0)]);
    *short.last_mut().unwrap() ^= 1;
    assert_eq!(frames.feed(0, &short).unwrap(), [alone(2, DAMAGED), alone(3, 0), alone(4, 0)]);
    let empty = batch_response(-2, 5..5);
    assert_eq!(frames.feed(0, &empty).unwrap(), [alone(5, DAMAGED), alone(6, 0)]);
    assert_eq!((take_entries(&mut frames), frames.groups()), (vec![2], 1));
    for beyond in [batch_response(-2, 9..10), batch_response(-65, 3..4), batch_response(i64::MIN, 3..4)] {
        assert_eq!(frames.feed(0, &beyond).unwrap_err().kind, ErrorKind::Corrupt);
        frames.forget(0);
    }
}

#[test]
fn entries_of_two_connections_are_ordered_after_any_cut() {
    let even: Vec<u8> = [2, 0, 6, 4].into_iter().flat_map(read_response).collect();
    let odd: Vec<u8> = [1, 5, 3, 7].into_iter().flat_map(read_response).collect();
    for cut in 0..=even.len() {
        let mut frames = frames(0, 7);
        let mut ids = Vec::new();
        for (connection, piece) in [(0, &even[..cut]), (1, &odd[..]), (0, &even[cut..])] {
            assert_eq!(frames.feed(connection, piece).unwrap(), []);
            ids.extend(take_entries(&mut frames));
        }
        assert_eq!(ids, (0..8).collect::<Vec<_>>());
        assert_eq!((frames.next(), frames.buffered_bytes()), (8, 0));
    }
}

#[test]
fn batches_are_reported() {
    let mut frames = frames(0, 9);
    let outcomes = frames.feed(0, &[batch_response(5, 0..4), batch_response(6, 4..6)].concat()).unwrap();
    let outcome = |id, entry, count| ReadOutcome { request_id: Some(id), entry, code: 0, count };
    assert_eq!(outcomes, [outcome(5, 0, 4), outcome(6, 4, 2)]);
    assert_eq!(take_entries(&mut frames), [0, 1, 2, 3, 4, 5]);
    let empty = frames.feed(0, &batch_response(7, 6..6)).unwrap();
    assert_eq!(empty, [ReadOutcome { request_id: Some(7), entry: 6, code: DAMAGED, count: 0 }]);
}

#[test]
fn an_entry_that_arrives_twice_is_dropped() {
    let mut frames = frames(0, 9);
    frames.feed(0, &batch_response(1, 0..3)).unwrap();
    assert_eq!(take_entries(&mut frames), [0, 1, 2]);
    frames.feed(1, &batch_response(2, 1..5)).unwrap();
    frames.feed(0, &read_response(4)).unwrap();
    assert_eq!(take_entries(&mut frames), [3, 4]);
    assert_eq!(frames.buffered_bytes(), 0);
}

#[test]
fn refusals_are_reported() {
    let mut frames = frames(0, 9);
    let refusals = [frame(2, 2, LEDGER, 3, b""), frame(7, 106, LEDGER, 4, &9i64.to_be_bytes())].concat();
    let expected = [
        ReadOutcome { request_id: None, entry: 3, code: 2, count: 0 },
        ReadOutcome { request_id: Some(9), entry: 4, code: 106, count: 0 },
    ];
    assert_eq!(frames.feed(0, &refusals).unwrap(), expected);
    assert!(frames.take().is_none());
}

#[test]
fn every_flipped_bit_of_an_entry_is_detected() {
    for digest in [Digest::Crc32c, Digest::Crc32, Digest::EitherCrc] {
        let good = body(4, digest);
        let other_end = if digest == Digest::EitherCrc { body(4, Digest::Crc32) } else { good.clone() };
        for body in [good, other_end] {
            assert_eq!(digest.verified(&body, LEDGER, 4), Some(data(4).as_slice()));
            assert_eq!(digest.verified(&body, LEDGER, 5), None);
            for bit in 0..body.len() * 8 {
                let mut damaged = body.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(digest.verified(&damaged, LEDGER, 4), None, "bit {bit} of {digest:?}");
            }
            for length in 0..body.len() {
                assert_eq!(digest.verified(&body[..length], LEDGER, 4), None);
            }
        }
    }
    let unprotected = body(4, Digest::Dummy);
    assert_eq!(Digest::Dummy.verified(&unprotected, LEDGER, 4), Some(data(4).as_slice()));
    assert_eq!(Digest::Dummy.verified(&unprotected, LEDGER, 3), None);
}

#[test]
fn a_damaged_entry_is_reported_and_the_other_entries_stay() {
    let mut damaged = body(1, Digest::Crc32c);
    *damaged.last_mut().unwrap() ^= 1;
    let mut frames = frames(0, 9);
    let outcomes = frames.feed(0, &frame(2, 0, LEDGER, 1, &damaged)).unwrap();
    assert_eq!(outcomes, [ReadOutcome { request_id: None, entry: 1, code: DAMAGED, count: 0 }]);
    let mut batch = batch_response(3, 0..3);
    let last = batch.len() - 1;
    batch[last] ^= 1;
    let outcomes = frames.feed(0, &batch).unwrap();
    assert_eq!(outcomes, [ReadOutcome { request_id: Some(3), entry: 0, code: DAMAGED, count: 2 }]);
    assert_eq!(take_entries(&mut frames), [0, 1]);
}

#[test]
fn responses_that_no_bookie_sends_are_corrupt() {
    let refused = |bytes: &[u8]| frames(0, 9).feed(0, bytes).unwrap_err().kind;
    assert_eq!(refused(&[0, 0x20, 0, 0]), ErrorKind::Corrupt);
    assert_eq!(refused(&[0, 0, 0, 2, 1, 2]), ErrorKind::Corrupt);
    assert_eq!(refused(&[0, 0, 0, 8, 2, 2, 0, 0, 0, 0, 0, 0]), ErrorKind::Corrupt);
    assert_eq!(refused(&frame(1, 0, LEDGER, 1, b"")), ErrorKind::Corrupt);
    assert_eq!(refused(&frame(2, 0, 8, 1, &body(1, Digest::Crc32c))), ErrorKind::Corrupt);
    assert_eq!(refused(&read_response(10)), ErrorKind::Corrupt);
    assert_eq!(refused(&frame(7, 0, LEDGER, 1, &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9])), ErrorKind::Corrupt);
    assert_eq!(Digest::from_name(Some("HMAC")).unwrap_err().kind, ErrorKind::Unsupported);
}

#[test]
fn a_closed_connection_leaves_no_buffered_bytes() {
    let mut frames = frames(0, 9);
    let response = read_response(0);
    frames.feed(3, &response[..20]).unwrap();
    assert_eq!(frames.buffered_bytes(), 20);
    frames.forget(3);
    assert_eq!(frames.buffered_bytes(), 0);
    frames.feed(3, &response).unwrap();
    assert_eq!(take_entries(&mut frames), [0]);
}

fn wrapped(ledger: u64, entry: u64, data: &[u8]) -> Vec<u8> {
    let mut id = Vec::new();
    put_number(&mut id, 1, ledger);
    put_number(&mut id, 2, entry);
    put_bytes(&mut id, 9, b"unknown");
    let mut out = (id.len() as u32).to_be_bytes().to_vec();
    out.extend(id);
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
    out
}

fn unwrapped(data: &[Vec<u8>], after: Option<(i64, i64)>) -> Result<Vec<(i64, i64, Vec<u8>)>, String> {
    let mut batch = EntryBatch::default();
    for (id, data) in data.iter().enumerate() {
        batch.push(Entry::new(99, id as i64, data.clone()));
    }
    compacted::unwrap(&mut batch, after).map_err(|e| e.message)?;
    Ok(batch.entries.into_iter().map(|e| (e.ledger, e.entry, e.data)).collect())
}

#[test]
fn compacted_entries_get_their_own_ids() {
    let good = [wrapped(3, 8, b"a"), wrapped(3, 9, b""), wrapped(5, 0, b"c")];
    let expected = [(3, 8, b"a".to_vec()), (3, 9, Vec::new()), (5, 0, b"c".to_vec())];
    assert_eq!(unwrapped(&good, Some((3, 7))).unwrap(), expected);
    assert!(unwrapped(&good, Some((3, 8))).unwrap_err().contains("message 99:0"));
    let repeated = [good[0].clone(), good[0].clone()];
    assert!(unwrapped(&repeated, None).unwrap_err().contains("a message id above 3:8, got 3:8"));
    for length in 0..good[0].len() {
        assert!(unwrapped(&[good[0][..length].to_vec()], None).is_err());
    }
    assert!(unwrapped(&[[good[0].as_slice(), b"x"].concat()], None).is_err());
    assert!(
        unwrapped(&[vec![0; 8]], None).unwrap_err().contains("expected a message id with ledger and entry")
    );
}

//! Chunks of several messages, batches and encrypted entries in any order.
//!
//! Four bytes choose the options of the read, the position where the topic is cut, and the publish times that
//! are read. Two reads, to the cut and from the cut, return the rows of one read. A read without the filter
//! returns these rows and others.
#![no_main]

#[path = "../common/sequence.rs"]
mod sequence;

use _kernel::encryption::OnFailure;
use libfuzzer_sys::fuzz_target;
use sequence::{Reading, topic};

fuzz_target!(|input: &[u8]| {
    let Some((&[how, cut, index, times], script)) = input.split_first_chunk::<4>() else { return };
    let topic = topic(script);
    let reading = Reading {
        max_open_chunked: usize::from(how & 3),
        on_crypto_failure: [OnFailure::Fail, OnFailure::Discard, OnFailure::Consume]
            [usize::from(how >> 2) % 3],
        batch_rows: 1 + usize::from(how >> 5),
        published: (times != 0).then_some((i64::from(times & 7), i64::from(times >> 3))),
    };
    let (first, last) = ((7, 0, 0), (7, topic.len() as i64, 0));
    let cut = (7, i64::from(cut) % (topic.len() as i64 + 1), i32::from(index % 3));
    let whole = reading.rows(&topic, first, last);
    let parts = reading.rows(&topic, first, cut).and_then(|mut rows| {
        rows.extend(reading.rows(&topic, cut, last)?);
        Ok(rows)
    });
    match (whole, parts) {
        (Ok(whole), Ok(parts)) => assert_eq!(whole, parts, "cut at {cut:?}"),
        (Err(error), _) | (_, Err(error)) => assert!(!error.message.is_empty()),
    }
    let all = Reading { published: None, ..reading }.rows(&topic, first, last);
    if let (Ok(mut all), Some((from, before))) = (all, reading.published) {
        all.retain(|(_, _, time, _)| (from..before).contains(time));
        assert_eq!(
            reading.rows(&topic, first, last).expect("expected no error from messages outside of the filter"),
            all
        );
    }
});

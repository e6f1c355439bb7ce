//! The bytes of a broker, fed in pieces. The first byte is the length of the pieces.
#![no_main]

use _kernel::frame::FrameDecoder;
use _kernel::selection::Selection;
use libfuzzer_sys::fuzz_target;

const MAX_FRAME_BYTES: usize = 1 << 20;

fuzz_target!(|input: &[u8]| {
    let Some((&step, bytes)) = input.split_first() else { return };
    let mut frames = FrameDecoder::new(MAX_FRAME_BYTES);
    for consumer in 0..4 {
        frames.add_consumer(consumer);
    }
    for piece in bytes.chunks(usize::from(step).max(1)) {
        if frames.feed(piece).is_err() {
            return;
        }
    }
    let buffered = frames.buffered_bytes();
    assert!(buffered <= bytes.len(), "{buffered} bytes are buffered after {} were fed", bytes.len());
    for consumer in 0..4 {
        if let Some(mut entries) = frames.take_entries(consumer) {
            let _ = entries.num_messages();
            let _ = entries.schema_versions(&Selection::default());
        }
    }
});

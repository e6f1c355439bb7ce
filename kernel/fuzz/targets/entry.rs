//! A stored entry, with checksum, metadata, codec and batch. The first byte chooses the value type.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::{Kind, entry, primitives};
use libfuzzer_sys::fuzz_target;

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let mut kinds: Vec<Kind> = (0..primitives().len() as u8).map(Kind::primitive).collect();
    kinds.extend(["json", "avro"].map(Kind::record));
    kinds.extend([Kind::protobuf(), Kind::key_value()]);
    kinds
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    entry(&KINDS[usize::from(choice) % KINDS.len()], bytes);
});

//! Key-value messages whose key is the message's key. The first byte contains the length of the key, and
//! whether the metadata mark the key as base64.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::{Kind, keyed_entry};
use libfuzzer_sys::fuzz_target;

static KIND: LazyLock<Kind> = LazyLock::new(Kind::separated);

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    let (key, value) = bytes.split_at(bytes.len().min(usize::from(choice >> 1)));
    keyed_entry(&KIND, key, choice & 1 == 1, value);
});

//! Key-value payloads: an Avro record as the key, a string as the value. The first byte chooses the version.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::{Kind, payload};
use libfuzzer_sys::fuzz_target;

static KIND: LazyLock<Kind> = LazyLock::new(Kind::key_value);

fuzz_target!(|input: &[u8]| {
    let Some((&version, bytes)) = input.split_first() else { return };
    payload(&KIND, &[0, 0, 0, 0, 0, 0, 0, version & 1], bytes);
});

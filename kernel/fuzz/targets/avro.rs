//! Avro payloads. The first byte selects the writer's version: the reader's own version or an older version.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::{Kind, payload};
use libfuzzer_sys::fuzz_target;

static KIND: LazyLock<Kind> = LazyLock::new(|| Kind::record("avro"));

fuzz_target!(|input: &[u8]| {
    let Some((&version, bytes)) = input.split_first() else { return };
    payload(&KIND, &[0, 0, 0, 0, 0, 0, 0, version & 1], bytes);
});

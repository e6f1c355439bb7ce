//! JSON payloads.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::{Kind, payload};
use libfuzzer_sys::fuzz_target;

static KIND: LazyLock<Kind> = LazyLock::new(|| Kind::record("json"));

static FORMS: LazyLock<Kind> = LazyLock::new(Kind::json_forms);

fuzz_target!(|input: &[u8]| {
    payload(&KIND, b"", input);
    payload(&FORMS, b"", input);
});

//! Payloads of primitive schemas. The first byte chooses the type.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use common::{Kind, payload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else { return };
    payload(&Kind::primitive(choice), b"", bytes);
});

//! Definitions of schemas. The first byte chooses the kind of the text: an Avro schema or a Protobuf plan, of
//! the reader or of a writer. If the text can be converted to columns, some payloads are decoded with it.
#![no_main]

#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use common::{Kind, by_definition, by_writer};
use libfuzzer_sys::fuzz_target;

static READERS: LazyLock<[Kind; 2]> = LazyLock::new(|| [Kind::record("avro"), Kind::protobuf()]);

fuzz_target!(|input: &[u8]| {
    let Some((&choice, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match choice % 5 {
        0 => by_definition("avro", text),
        1 => by_definition("json", text),
        2 => by_definition("protobuf", text),
        3 => by_writer(&READERS[0], text),
        _ => by_writer(&READERS[1], text),
    }
});

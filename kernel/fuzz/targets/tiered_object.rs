//! An index object and its data object: a byte for the step, two for the index's length, three for the range.
#![no_main]

#[path = "../common/stored.rs"]
mod stored;

use _kernel::tiered::object::ObjectIndex;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(given) = stored::Parts::split(input) else { return };
    let Ok(index) = ObjectIndex::parse(7, given.index) else { return };
    let Ok(entries) = index.entries(given.first, given.last) else { return };
    stored::read(entries, &given);
});

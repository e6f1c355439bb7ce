//! The files `index` and `data` of a MapFile, laid out as the input of `fuzz-tiered-object`.
#![no_main]

#[path = "../common/stored.rs"]
mod stored;

use _kernel::tiered::map_file::MapFile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some(given) = stored::Parts::split(input) else { return };
    let Ok(file) = MapFile::parse(7, given.data, given.index) else { return };
    let Ok(entries) = file.entries(given.first, given.last) else { return };
    stored::read(entries, &given);
});

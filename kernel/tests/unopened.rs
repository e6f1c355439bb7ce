//! Undamaged entries whose payload cannot be opened: such an entry is one bad row, or an error of a kind
//! other than `corrupt`.

use crate::common::*;
use crate::odd::*;
use _kernel::compression::{Codec, Compressor};
use _kernel::decode::{BadRows, IntakeOptions};
use _kernel::error::ErrorKind;
use _kernel::selection::{Range, Selection};
use _kernel::wire::{put_bytes, put_number};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};

/// Return an entry that is compressed with `codec` and has the uncompressed size `size` in its metadata.
fn compressed_entry(codec: u64, size: u64, messages: Option<u64>, payload: &[u8]) -> Vec<u8> {
    let metadata = with(|out| {
        put_number(out, 8, codec);
        put_number(out, 9, size);
        messages.into_iter().for_each(|count| put_number(out, 11, count));
    });
    entry(&metadata, payload)
}

const CODECS: [Codec; 4] = [Codec::Lz4, Codec::Zlib, Codec::Zstd, Codec::Snappy];

/// Check that an entry between good entries is an error of `kind`, one row with the stored bytes, or no row.
fn assert_unopened(data: Vec<u8>, stored: &[u8], kind: ErrorKind, why: &str, intake: IntakeOptions) {
    let good = entry(&metadata(), b"good");
    for mode in MODES {
        let mut options = text_options(mode);
        options.intake = intake;
        let rows = decode_all(options.clone(), &[good.clone(), data.clone(), good.clone()]);
        if mode == BadRows::Fail {
            let error = rows.unwrap_err();
            assert_eq!((error.kind, error.at.map(|at| at.entry)), (kind, Some(1)), "{error}");
            assert!(error.message.contains(why), "{error}");
            continue;
        }
        let rows = rows.unwrap().remove(0);
        let good = || Some("good".to_owned());
        let expected = if mode == BadRows::Null { vec![good(), None, good()] } else { vec![good(), good()] };
        assert_eq!(strings(&rows, "value"), expected);
        if mode == BadRows::Null {
            assert_eq!(bad(&rows.slice(1, 1)).unwrap(), stored);
            let id = rows.column_by_name("__messageId").unwrap().as_struct();
            let place = id.column_by_name("batchIndex").unwrap().as_primitive::<Int32Type>();
            assert_eq!((place.value(1), id.column(1).as_primitive::<Int64Type>().value(1)), (-1, 1));
        }
        // The row has the position of the entry's first message, so a range after this position has no row.
        let wanted = Selection::from(Range { start: Some((7, 1, 1)), end: None });
        options.range = wanted.range;
        let rest = decode_all(options, &[data.clone(), data.clone()]).unwrap();
        assert!(rest.is_empty() || rest[0].num_rows() == 0, "{mode:?}");
    }
}

#[test]
fn an_entry_that_cannot_be_opened_is_one_bad_row() {
    let any = IntakeOptions::default();
    assert_unopened(
        compressed_entry(9, 4, None, b"abcd"),
        b"abcd",
        ErrorKind::Unsupported,
        "4 SNAPPY, got 9",
        any,
    );
    assert_unopened(
        compressed_entry(9, 4, Some(2), b"abcd"),
        b"abcd",
        ErrorKind::Unsupported,
        "4 SNAPPY, got 9",
        any,
    );
    let text = b"some text, some text, some text, some text".repeat(3);
    for codec in CODECS {
        let stored = Compressor::new(codec).compress(&text).unwrap().to_vec();
        for size in [0, 1, text.len() - 1, text.len() + 1, 5000] {
            let data = compressed_entry(codec.number(), size as u64, None, &stored);
            assert_unopened(data, &stored, ErrorKind::Payload, "cannot be decompressed", any);
        }
        let data = compressed_entry(codec.number(), 20, None, b"not compressed at all");
        assert_unopened(data, b"not compressed at all", ErrorKind::Payload, "cannot be decompressed", any);
        // An entry without a checksum may be damaged, so the error has the kind `corrupt`.
        let unproven = compressed_entry(codec.number(), 20, None, b"not compressed at all").split_off(6);
        let error = decode_all(text_options(BadRows::Null), &[unproven]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{codec:?} {error}");
    }
}

#[test]
fn an_entry_that_is_too_large_is_not_decompressed() {
    let zeros = vec![0; 2 << 20];
    let limit = 1 << 20;
    let intake = IntakeOptions { max_uncompressed: Some(limit), ..IntakeOptions::default() };
    for codec in CODECS {
        let stored = Compressor::new(codec).compress(&zeros).unwrap().to_vec();
        for messages in [None, Some(1), Some(2_147_483_647)] {
            let data = compressed_entry(codec.number(), zeros.len() as u64, messages, &stored);
            let why = format!("at most {limit} bytes uncompressed");
            assert_unopened(data, &stored, ErrorKind::TooLarge, &why, intake);
        }
        // The decoder allocates only the size in the metadata, so an entry with a larger content is refused.
        let data = compressed_entry(codec.number(), limit as u64, None, &stored);
        assert_unopened(data, &stored, ErrorKind::Payload, "cannot be decompressed", intake);
        let data = compressed_entry(codec.number(), zeros.len() as u64, None, &stored);
        assert_eq!(decode_all(text_options(BadRows::Fail), &[data]).unwrap()[0].num_rows(), 1);
    }
}

#[test]
fn the_default_limit_depends_on_the_size_of_the_entry() {
    let limit = 80 << 20;
    let zeros = vec![0; limit + 1];
    let stored = Compressor::new(Codec::Zstd).compress(&zeros).unwrap().to_vec();
    let data = compressed_entry(3, zeros.len() as u64, None, &stored);
    let (size, packed) = (zeros.len(), stored.len());
    let why =
        format!("at most {limit} bytes uncompressed, got {size} bytes uncompressed ({packed} bytes of Zstd)");
    assert_unopened(data.clone(), &stored, ErrorKind::TooLarge, &why, IntakeOptions::default());
    let mut options = text_options(BadRows::Fail);
    options.intake.max_uncompressed = Some(zeros.len());
    assert_eq!(decode_all(options, &[data]).unwrap()[0].num_rows(), 1);
    // The limit is higher for a larger entry, because its broker accepts larger messages.
    let mut padded = stored.clone();
    padded.resize(6 << 20, 0);
    let error =
        decode_all(text_options(BadRows::Fail), &[compressed_entry(3, zeros.len() as u64, None, &padded)]);
    assert_eq!(error.unwrap_err().kind, ErrorKind::Payload, "the entry was unpacked");
}

/// Return chunk `id` of `chunks` chunks. `total` is the size of all chunks together.
fn chunk(id: u64, chunks: u64, total: u64, piece: &[u8], compressed: Option<u64>) -> Vec<u8> {
    let metadata = with(|out| {
        compressed.into_iter().for_each(|size| {
            put_number(out, 8, 1);
            put_number(out, 9, size);
        });
        put_bytes(out, 26, b"uuid");
        put_number(out, 27, chunks);
        put_number(out, 28, total);
        put_number(out, 29, id);
    });
    entry(&metadata, piece)
}

#[test]
fn a_chunked_message_is_bounded_by_its_chunks() {
    let zeros = vec![0; 2 << 20];
    let stored = Compressor::new(Codec::Lz4).compress(&zeros).unwrap().to_vec();
    let (first, second) = stored.split_at(stored.len() / 2);
    let (total, size) = (stored.len() as u64, Some(zeros.len() as u64));
    let data = [chunk(0, 2, total, first, size), chunk(1, 2, total, second, size)];
    let read = |mode, limit| {
        let mut options = text_options(mode);
        options.intake.max_uncompressed = Some(limit);
        decode_all(options, &data)
    };
    let error = read(BadRows::Fail, zeros.len() - 1).unwrap_err();
    assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::TooLarge, 1), "{error}");
    let rows = read(BadRows::Null, zeros.len() - 1).unwrap().remove(0);
    assert_eq!((rows.num_rows(), bad(&rows).unwrap()), (1, second.to_vec()));
    assert_eq!(read(BadRows::Fail, zeros.len()).unwrap()[0].num_rows(), 1);
}

#[test]
fn contradictory_chunks_are_bad_rows() {
    let contradictions = [
        chunk(1, 3, 4, b"cd", None),
        chunk(1, 2, 3, b"cd", None),
        chunk(2, 2, 4, b"cd", None),
        chunk(1, 2, 1 << 40, b"cd", None),
    ];
    for contradictory in contradictions {
        let data = [chunk(0, 2, 4, b"ab", None), contradictory, entry(&metadata(), b"good")];
        let error = decode_all(text_options(BadRows::Fail), &data).unwrap_err();
        assert_eq!((error.kind, error.at.unwrap().entry), (ErrorKind::Payload, 1), "{error}");
        let rows = decode_all(text_options(BadRows::Null), &data).unwrap().remove(0);
        assert_eq!(strings(&rows, "value"), [None, Some("good".to_owned())]);
        let rows = decode_all(text_options(BadRows::Drop), &data).unwrap().remove(0);
        assert_eq!(strings(&rows, "value"), [Some("good".to_owned())]);
    }
}

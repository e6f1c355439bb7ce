//! Compression and decompression of payloads.
//!
//! A damaged or forged size field must never decide how much memory is allocated. Before the allocation, the
//! size is compared with a limit, and with the best possible ratio of the codec. A payload whose decompressed
//! size exceeds the stated size is an error.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use lz4_flex::block::{CompressError, CompressTable, compress_into_with_table, get_maximum_output_size};

use crate::error::{ErrorKind, KernelError, Result};

/// Maximum size of a decompressed payload in bytes, even if the limit is larger. Arrow's 32-bit offsets end
/// at 2 GiB.
pub const MAX_UNCOMPRESSED: usize = 1 << 30;
/// Upper limit on the compressed size of an empty payload, in bytes, for all codecs.
const MAX_STUB: usize = 32;

/// The codecs of `CompressionType` in PulsarApi.proto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Number 0.
    None,
    /// Number 1, a raw block.
    Lz4,
    /// Number 2.
    Zlib,
    /// Number 3, a frame.
    Zstd,
    /// Number 4, without a frame.
    Snappy,
}

impl Codec {
    /// Returns the codec that has this number in the metadata of an entry.
    pub fn from_number(number: u64) -> Result<Self> {
        [Self::None, Self::Lz4, Self::Zlib, Self::Zstd, Self::Snappy]
            .into_iter()
            .find(|codec| codec.number() == number)
            .ok_or_else(|| {
                KernelError::new(
                    ErrorKind::Unsupported,
                    format!(
                        "compression type: expected 0 NONE, 1 LZ4, 2 ZLIB, 3 ZSTD or 4 SNAPPY, got {number}"
                    ),
                )
            })
    }

    /// Returns the codec that has this name in the options.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "NONE" => Self::None,
            "LZ4" => Self::Lz4,
            "ZLIB" => Self::Zlib,
            "ZSTD" => Self::Zstd,
            "SNAPPY" => Self::Snappy,
            _ => {
                return Err(KernelError::schema(format!(
                    "compression: expected NONE, LZ4, ZLIB, ZSTD or SNAPPY, got {name:?}"
                )));
            }
        })
    }

    /// Returns the number of the codec in the metadata of an entry.
    pub fn number(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Lz4 => 1,
            Self::Zlib => 2,
            Self::Zstd => 3,
            Self::Snappy => 4,
        }
    }
}

/// Decompresses to exactly `size` bytes. Fails with an error of the kind `too_large` if `size` is above
/// `limit`. If the result has another size, the error has the kind `corrupt`.
pub fn decompress(codec: Codec, data: &[u8], size: usize, limit: usize) -> Result<Vec<u8>> {
    decompress_in(Vec::new(), codec, data, size, limit)
}

/// Decompresses like [`decompress`], into the memory of `spare` if the codec can use it. The content of
/// `spare` is ignored.
pub fn decompress_in(
    spare: Vec<u8>,
    codec: Codec,
    data: &[u8],
    size: usize,
    limit: usize,
) -> Result<Vec<u8>> {
    if size == 0 && codec != Codec::None {
        return empty(codec, data);
    }
    let limit = limit.min(MAX_UNCOMPRESSED);
    if size > limit {
        let packed = data.len();
        return Err(KernelError::new(
            ErrorKind::TooLarge,
            format!(
                "expected a payload of at most {limit} bytes uncompressed, got {size} bytes uncompressed ({packed} bytes of {codec:?})"
            ),
        ));
    }
    let out = match codec {
        Codec::None => data.to_vec(),
        Codec::Lz4 => lz4(spare, data, size)?,
        Codec::Zlib => zlib(data, size)?,
        Codec::Zstd => zstd_frame(data, size)?,
        Codec::Snappy => snappy(data, size)?,
    };
    if out.len() != size {
        return Err(damaged(codec, format!("expected {size} bytes uncompressed, got {}", out.len())));
    }
    Ok(out)
}

/// Accepts the stub bytes that Java writes for an empty payload, which not every codec can decompress. Fails
/// if the data decompress to any content.
fn empty(codec: Codec, data: &[u8]) -> Result<Vec<u8>> {
    let has_content = data.len() > MAX_STUB
        || match codec {
            Codec::None => !data.is_empty(),
            Codec::Lz4 => {
                let mut out = [0; MAX_STUB * 255];
                lz4_flex::block::decompress_into(data, &mut out).is_ok_and(|written| written > 0)
            }
            Codec::Zlib => zlib(data, MAX_STUB).is_ok_and(|out| !out.is_empty()),
            Codec::Zstd => zstd_frame(data, 1 << 17).is_ok_and(|out| !out.is_empty()),
            Codec::Snappy => snap::raw::decompress_len(data).is_ok_and(|announced| announced > 0),
        };
    if has_content {
        return Err(damaged(
            codec,
            format!("expected 0 bytes uncompressed, got {} bytes of content", data.len()),
        ));
    }
    Ok(Vec::new())
}

fn damaged(codec: Codec, why: impl std::fmt::Display) -> KernelError {
    KernelError::corrupt(format!("the {codec:?} payload cannot be decompressed: {why}"))
}

/// Refuses a size that is too large for `data`. One byte of `data` can become at most `ratio` bytes.
fn check_ratio(codec: Codec, data: &[u8], size: usize, ratio: usize) -> Result<()> {
    if size > data.len().saturating_mul(ratio).saturating_add(64) {
        return Err(damaged(
            codec,
            format!("{} compressed bytes cannot contain {size} uncompressed bytes", data.len()),
        ));
    }
    Ok(())
}

fn lz4(mut out: Vec<u8>, data: &[u8], size: usize) -> Result<Vec<u8>> {
    check_ratio(Codec::Lz4, data, size, 255)?;
    if out.capacity() < size {
        // To fill a new allocation with zeros is cheaper than to extend an existing vector.
        out = vec![0; size];
    } else {
        out.resize(size, 0);
    }
    let written = lz4_flex::block::decompress_into(data, &mut out).map_err(|e| damaged(Codec::Lz4, e))?;
    out.truncate(written);
    Ok(out)
}

fn snappy(data: &[u8], size: usize) -> Result<Vec<u8>> {
    check_ratio(Codec::Snappy, data, size, 64)?;
    let announced = snap::raw::decompress_len(data).map_err(|e| damaged(Codec::Snappy, e))?;
    if announced != size {
        return Err(damaged(
            Codec::Snappy,
            format!(
                "expected {size} bytes as in the metadata of the message, got a header for {announced} bytes"
            ),
        ));
    }
    snap::raw::Decoder::new().decompress_vec(data).map_err(|e| damaged(Codec::Snappy, e))
}

fn zstd_frame(data: &[u8], size: usize) -> Result<Vec<u8>> {
    // The data are decompressed in one piece, so that the memory is limited. A stream would use as much
    // memory as the window size in the frame.
    zstd::bulk::decompress(data, size).map_err(|e| damaged(Codec::Zstd, e))
}

/// Inflates until the input ends. Java's client ends with a sync flush, and writes neither a final block nor
/// the Adler checksum.
fn zlib(data: &[u8], size: usize) -> Result<Vec<u8>> {
    check_ratio(Codec::Zlib, data, size, 1040)?;
    let mut out = Vec::with_capacity(size + 1);
    let mut inflater = Decompress::new(true);
    loop {
        let input = data.get(inflater.total_in() as usize..).unwrap_or_default();
        let before = (inflater.total_in(), out.len());
        let status = inflater
            .decompress_vec(input, &mut out, FlushDecompress::None)
            .map_err(|e| damaged(Codec::Zlib, e))?;
        let stuck = before == (inflater.total_in(), out.len());
        if status == Status::StreamEnd || stuck || out.len() > size {
            return Ok(out);
        }
    }
}

/// A compressor of payloads that reuses its memory.
pub struct Compressor {
    codec: Codec,
    table: CompressTable,
    out: Vec<u8>,
}

impl Compressor {
    /// Creates a compressor for one codec.
    pub fn new(codec: Codec) -> Self {
        Self { codec, table: CompressTable::default(), out: Vec::new() }
    }

    /// Compresses a payload.
    pub fn compress<'a>(&'a mut self, data: &'a [u8]) -> Result<&'a [u8]> {
        let codec = self.codec;
        let failed = |e: &dyn std::fmt::Display| {
            KernelError::payload(format!("the payload cannot be compressed with {codec:?}: {e}"))
        };
        self.out = match codec {
            Codec::None => return Ok(data),
            Codec::Lz4 => return self.lz4(data).map_err(|e| failed(&e)),
            Codec::Zstd => {
                zstd::bulk::compress(data, zstd::DEFAULT_COMPRESSION_LEVEL).map_err(|e| failed(&e))?
            }
            Codec::Snappy => snap::raw::Encoder::new().compress_vec(data).map_err(|e| failed(&e))?,
            Codec::Zlib => deflate(data).map_err(|e| failed(&e))?,
        };
        Ok(&self.out)
    }

    fn lz4(&mut self, data: &[u8]) -> std::result::Result<&[u8], CompressError> {
        let most = get_maximum_output_size(data.len());
        if self.out.len() < most {
            self.out.resize(most, 0);
        }
        let written = compress_into_with_table(data, &mut self.out, &mut self.table)?;
        Ok(self.out.get(..written).unwrap_or_default())
    }
}

fn deflate(data: &[u8]) -> std::result::Result<Vec<u8>, flate2::CompressError> {
    let mut deflater = Compress::new(Compression::default(), true);
    let mut out = Vec::with_capacity(data.len() / 2 + 64);
    loop {
        let input = data.get(deflater.total_in() as usize..).unwrap_or_default();
        if deflater.compress_vec(input, &mut out, FlushCompress::Finish)? == Status::StreamEnd {
            return Ok(out);
        }
        out.reserve(out.capacity().max(64));
    }
}

//! Entries straight from the bookies that store a ledger.
//!
//! BookKeeper's binary protocol, version 2 (`BookieProtocol` of its Java sources): frames of
//! `u32 length without itself | u32 header | ...`, big endian; the header is `version << 24 | operation << 16 |
//! flags`. [`protocol`] builds requests and takes answers apart, [`digest`] verifies an entry, [`frames`] puts the
//! entries of one ledger in order, whatever bookie they came from, [`compacted`] unwraps those of a compacted ledger.

pub mod compacted;
pub mod digest;
pub mod frames;
pub mod protocol;

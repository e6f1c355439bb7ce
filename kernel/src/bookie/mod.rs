//! Entries read directly from the bookies that store a ledger.
//!
//! The module speaks version 2 of BookKeeper's binary protocol (`BookieProtocol` in its Java sources). A
//! frame is `u32 length without itself | u32 header | ...`, big endian. The header is `version << 24 |
//! operation << 16 | flags`.
//!
//! [`protocol`] builds requests and splits answers, and [`digest`] verifies an entry. [`frames`] puts the
//! entries of one ledger in order, from any number of bookies. [`compacted`] unwraps the entries of a
//! compacted ledger.

pub mod compacted;
pub mod digest;
pub mod frames;
pub mod protocol;

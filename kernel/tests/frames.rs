//! Splitting of a broker's byte stream into frames.

use crate::common;
use _kernel::ErrorKind;
use _kernel::frame::FrameDecoder;
use _kernel::wire::{put_bytes, put_number};

fn frame(command: &[u8], rest: &[u8]) -> Vec<u8> {
    let mut out = ((4 + command.len() + rest.len()) as u32).to_be_bytes().to_vec();
    out.extend_from_slice(&(command.len() as u32).to_be_bytes());
    out.extend_from_slice(command);
    out.extend_from_slice(rest);
    out
}

fn simple_command(kind: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, 1, kind);
    put_bytes(&mut out, kind as u32, b"");
    out
}

fn message_command(consumer: u64, ledger: u64, entry: u64) -> Vec<u8> {
    let (mut id, mut message, mut out) = (Vec::new(), Vec::new(), Vec::new());
    put_number(&mut id, 1, ledger);
    put_number(&mut id, 2, entry);
    put_number(&mut message, 1, consumer);
    put_bytes(&mut message, 2, &id);
    put_number(&mut out, 1, 9);
    put_bytes(&mut out, 9, &message);
    out
}

fn stream() -> Vec<u8> {
    let mut out = frame(&simple_command(18), b"");
    out.extend(frame(&message_command(5, 7, 300), &common::batched_entry(3)));
    out.extend(frame(&message_command(6, 7, 301), &common::batched_entry(1)));
    out.extend(frame(&simple_command(13), b""));
    out.extend(frame(&message_command(5, 8, 0), &common::batched_entry(2)));
    out
}

fn decoder() -> FrameDecoder {
    let mut decoder = FrameDecoder::new(1 << 20);
    decoder.add_consumer(5);
    decoder.add_consumer(6);
    decoder
}

fn check(decoder: &mut FrameDecoder, commands: &[Vec<u8>]) {
    assert_eq!(commands, [simple_command(18), simple_command(13)]);
    assert!(decoder.buffered_bytes() > 0);
    assert_eq!(decoder.first_entry(5), Some((7, 300)));
    assert_eq!(decoder.first_entry(4), None);
    let five = decoder.take_entries(5).expect("entries");
    let ids: Vec<_> = five.entries.iter().map(|e| (e.ledger, e.entry)).collect();
    assert_eq!(ids, [(7, 300), (8, 0)]);
    assert_eq!(five.num_messages(), 5);
    assert_eq!(decoder.take_entries(6).expect("entries").entries[0].data, common::batched_entry(1));
    assert!(decoder.take_entries(5).is_none());
    assert_eq!(decoder.first_entry(5), None);
    assert_eq!(decoder.buffered_bytes(), 0);
}

#[test]
fn any_cut_returns_the_same_frames() {
    let stream = stream();
    for cut in 0..=stream.len() {
        let mut decoder = decoder();
        let mut commands = decoder.feed(&stream[..cut]).unwrap();
        commands.extend(decoder.feed(&stream[cut..]).unwrap());
        check(&mut decoder, &commands);
    }
}

#[test]
fn single_bytes_return_the_same_frames() {
    let mut decoder = decoder();
    let mut commands = Vec::new();
    for byte in stream() {
        commands.extend(decoder.feed(&[byte]).unwrap());
    }
    check(&mut decoder, &commands);
}

#[test]
fn a_dropped_consumer_receives_nothing() {
    let mut decoder = decoder();
    let stream = stream();
    decoder.feed(&stream[..stream.len() / 2]).unwrap();
    decoder.drop_consumer(5);
    decoder.feed(&stream[stream.len() / 2..]).unwrap();
    assert_eq!(decoder.first_entry(5), None);
    assert!(decoder.take_entries(5).is_none());
    assert!(decoder.take_entries(6).is_some());
}

/// A connection can stay open for months, and opens and closes many consumers in this time.
#[test]
fn ids_of_dropped_consumers_are_forgotten() {
    let mut decoder = FrameDecoder::new(1 << 20);
    for consumer in 1..=10_000 {
        decoder.add_consumer(consumer);
        decoder.feed(&frame(&message_command(consumer, 7, 300), &common::batched_entry(1))).unwrap();
        decoder.drop_consumer(consumer);
        // The broker sent this message before it closed the consumer.
        decoder.feed(&frame(&message_command(consumer, 7, 301), &common::batched_entry(1))).unwrap();
    }
    assert_eq!(decoder.consumers(), 0);
    assert_eq!(decoder.buffered_bytes(), 0);
    assert!(decoder.take_entries(10_000).is_none());
}

#[test]
fn impossible_lengths_are_corrupt() {
    let refused = |bytes: &[u8]| FrameDecoder::new(1000).feed(bytes).unwrap_err().kind;
    assert_eq!(refused(&[0, 0, 4, 0]), ErrorKind::Corrupt);
    assert_eq!(refused(&[0, 0, 0, 4, 0, 0, 0, 1]), ErrorKind::Corrupt);
    assert_eq!(refused(&[0, 0, 0, 3, 0, 0, 0]), ErrorKind::Corrupt);
    assert_eq!(refused(&frame(&[8, 9], b"")), ErrorKind::Corrupt);
}

#[test]
fn bit_flips_do_not_panic() {
    let stream = stream();
    for bit in 0..stream.len() * 8 {
        let mut damaged = stream.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let _ = decoder().feed(&damaged);
    }
}

"""Messages of every kind that Pulsar's clients write, for the topics whose ledgers are in all locations."""

from __future__ import annotations

import random
from typing import Any

import pulsar as official_client
from fixtures.key_pair import KeyPair
from integration.official import as_base64

CODECS = {
    "NONE": official_client.CompressionType.NONE,
    "LZ4": official_client.CompressionType.LZ4,
    "ZLIB": official_client.CompressionType.ZLib,
    "ZSTD": official_client.CompressionType.ZSTD,
    "SNAPPY": official_client.CompressionType.SNAPPY,
}
WORDS = ("", "Zürich", "東京", "a b,c=d", "\U0001f980", "x" * 300)
CHUNK_BYTES = 1000
BATCHED, UNBATCHED = 150, 25

Job = dict[str, Any]


def random_message(rng: random.Random) -> dict[str, Any]:
    """Arguments of the official `Producer.send_async`; some have no bytes, or none at all."""
    shape = rng.random()
    content = None if shape < 0.05 else b"" if shape < 0.1 else rng.randbytes(rng.randrange(1, 120))
    if shape > 0.5:
        content = b"again " * rng.randrange(1, 80)
    message: dict[str, Any] = {"content": content, "properties": {"word": rng.choice(WORDS)}}
    if rng.random() < 0.7:
        message["partition_key"] = f"{rng.choice(WORDS)}k{rng.randrange(20)}"
    if rng.random() < 0.1:
        message["ordering_key"] = "ordering"
    if rng.random() < 0.5:
        message["event_timestamp"] = rng.randrange(1, 2_000_000_000_000)
    return message


def produce_every_codec(client: official_client.Client, topic: str, rng: random.Random) -> None:
    """Send messages with the Python client: batches by order and by key, and single messages."""
    for compression in CODECS.values():
        for batched, count in ((True, BATCHED), (False, UNBATCHED)):
            producer = client.create_producer(
                topic,
                compression_type=compression,
                batching_enabled=batched,
                batching_max_messages=20,
                batching_type=rng.choice(
                    [official_client.BatchingType.Default, official_client.BatchingType.KeyBased]
                ),
                block_if_queue_full=True,
            )
            results: list[official_client.Result] = []
            for _ in range(count):
                producer.send_async(
                    callback=lambda result, _, results=results: results.append(result), **random_message(rng)
                )
            producer.flush()
            producer.close()
            assert results == [official_client.Result.Ok] * count


def produce_encrypted(client: official_client.Client, topic: str, pair: KeyPair, rng: random.Random) -> None:
    for batched in (True, False):
        producer = client.create_producer(
            topic,
            encryption_key="one",
            crypto_key_reader=official_client.CryptoKeyReader(pair.public, pair.private),
            compression_type=official_client.CompressionType.LZ4,
            batching_enabled=batched,
        )
        for number in range(20):
            producer.send_async(
                rng.randbytes(100), callback=lambda *_: None, properties={"secret": str(number)}
            )
        producer.flush()
        producer.close()


def transactions(topic: str, rng: random.Random) -> Job:
    """Send committed and aborted transactions; one of each is long, and its end is in a later ledger."""
    plain = [_message(b"beside", rng) for _ in range(210)]
    steps: list[dict[str, Any]] = []
    for number, end in enumerate(("commit", "abort", "abort", "commit") * 3):
        messages = [_message(f"{end} {number} {each}".encode(), rng) for each in range(rng.randrange(1, 6))]
        steps += [
            {"messages": messages, "end": end, "beside": plain if number in {0, 1} else plain[:3]},
            {"messages": plain[:2]},
        ]
    return {"do": "produce", "topic": topic, "batching": rng.random() < 0.5, "steps": steps}


def chunks(topic: str, rng: random.Random) -> Job:
    """Send messages of seven chunks; with 200 entries in a ledger, some of them are in two ledgers."""
    values = [rng.randbytes(6 * CHUNK_BYTES + rng.randrange(1, CHUNK_BYTES)) for _ in range(45)]
    messages = [
        {"value": as_base64(value), "key": f"large {index % 3}"} for index, value in enumerate(values)
    ]
    messages[::9] = [_message(b"small", rng) for _ in messages[::9]]
    job = {"do": "produce", "topic": topic, "chunking": True, "chunkBytes": CHUNK_BYTES}
    return {**job, "steps": [{"messages": messages}]}


def open_end(topic: str, rng: random.Random) -> Job:
    """Send visible messages, then an open transaction; readers may not see anything after its first message."""
    steps: list[dict[str, Any]] = [
        {"messages": [_message(b"seen", rng)]},
        {"messages": [_message(b"aborted", rng)] * 3, "end": "abort"},
        {"messages": [_message(b"seen, committed", rng)] * 3, "end": "commit"},
        {"messages": [_message(b"the last that is seen", rng)]},
        {"messages": [_message(b"open", rng)] * 5, "end": "open"},
        {"messages": [_message(b"behind the open ones", rng)] * 5},
    ]
    return {"do": "produce", "topic": topic, "steps": steps}


def _message(value: bytes, rng: random.Random) -> dict[str, Any]:
    message: dict[str, Any] = {"value": as_base64(value), "properties": {"word": rng.choice(WORDS)}}
    if rng.random() < 0.3:
        message["key"] = rng.choice(WORDS[1:])
    return message

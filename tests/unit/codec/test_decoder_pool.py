import pyarrow as pa

from pyspark_pulsar._kernel import Decoder
from pyspark_pulsar.codec.decode import DecoderOptions
from pyspark_pulsar.codec.decoder_pool import DecoderPool, IdleDecoder
from pyspark_pulsar.schema.payload import PayloadSchema


def decoder() -> Decoder:
    output = pa.schema([pa.field("value", pa.binary())])
    return Decoder(
        DecoderOptions(output_schema=output, topic="t", partition=-1, value=PayloadSchema("bytes"))
    )


def test_each_decoder_is_taken_once_and_has_its_own_key() -> None:
    pool = DecoderPool()
    first, second = decoder(), decoder()
    pool.give_back("a", first, {})
    pool.give_back("a", second, {})
    assert pool.take("b") is None
    assert pool.take("a") == IdleDecoder(second, {})
    assert pool.take("a") == IdleDecoder(first, {})
    assert pool.take("a") is None


def test_the_pool_is_bounded() -> None:
    pool = DecoderPool(most=2)
    decoders = [decoder() for _ in range(3)]
    for number, each in enumerate(decoders):
        pool.give_back(number, each, {})
    assert [pool.take(number) for number in range(3)] == [
        None,
        *(IdleDecoder(each, {}) for each in decoders[1:]),
    ]

"""The encoder's frames as the decoder's entries, without a broker between them."""

import struct

from pyspark_pulsar._kernel import EntryBatch, SendFrames


def entries_of(sent: list[SendFrames]) -> EntryBatch:
    """The entries that a broker would store: SEND frames without their sizes and command."""
    entries = EntryBatch()
    for frames in sent:
        data, number = frames.frames, 0
        while data:
            total, command = struct.unpack_from(">II", data)
            entries.push(frames.partition, number, data[8 + command : 4 + total])
            data, number = data[4 + total :], number + 1
    return entries

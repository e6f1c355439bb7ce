"""Sending to a broker that accepts the bytes little by little."""

import random
import socket
import threading
import time

from pyspark_pulsar.client.broker.connection.transport import SEND_BYTES, Transport
from pyspark_pulsar.client.security.url import BrokerAddress

PATIENCE_SECONDS = 5.0


def test_a_broker_that_takes_its_time_gets_all_of_it() -> None:
    """A limit is for a part that does not move, not for the whole."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        transport = Transport(BrokerAddress("localhost", 6650), ours)
        transport.wait_at_most(PATIENCE_SECONDS)
        sent = random.Random(7).randbytes(15 * SEND_BYTES + 3)
        taken = bytearray()

        def take() -> None:
            while len(taken) < len(sent):
                taken.extend(theirs.recv(64 * 1024))
                time.sleep(0.025)

        taking = threading.Thread(target=take)
        began = time.monotonic()
        taking.start()
        transport.send(memoryview(sent))
        assert time.monotonic() - began > PATIENCE_SECONDS
        taking.join(30)
        assert bytes(taken) == sent

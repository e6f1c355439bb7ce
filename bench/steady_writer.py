"""A process that sends at a steady rate until it ends, by the official client, with the client's default batches.

    python bench/steady_writer.py SERVICE_URL TOPIC MESSAGES_PER_SECOND

Values begin with the time of sending, in nanoseconds since 1970, as 8 bytes.
"""

import sys
import time

import pulsar as official

_PAYLOAD = b"x" * 100
_TICK_SECONDS = 0.005


def main() -> None:
    service_url, topic, per_second = sys.argv[1:]
    client = official.Client(service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error))
    producer = client.create_producer(topic, batching_enabled=True, block_if_queue_full=True)
    begin, sent = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - begin) * float(per_second))
        for _ in range(due - sent):
            producer.send_async(time.time_ns().to_bytes(8, "big") + _PAYLOAD, None)
        sent = due
        time.sleep(_TICK_SECONDS)


if __name__ == "__main__":
    main()

"""A process that sends messages to a topic at a steady rate and receives them, both by the official client.

    python bench/tail_latency.py SERVICE_URL TOPIC MESSAGES_PER_SECOND

Standard input has pairs of lines, `begin` and `end`. After each `end` the process prints a line of JSON. The line has
the milliseconds from send to receive, of messages received between `begin` and `end`.
"""

import json
import os
import sys
import threading
import time

import pulsar as official

_PAYLOAD = b"x" * 1000


def send(producer: official.Producer, per_second: float) -> None:
    begin, number = time.monotonic(), 0
    while True:
        time.sleep(max(0.0, begin + number / per_second - time.monotonic()))
        producer.send_async(time.monotonic_ns().to_bytes(8, "big") + _PAYLOAD, None)
        number += 1


def receive(consumer: official.Consumer, latencies: list[float]) -> None:
    while True:
        message = consumer.receive()
        sent = int.from_bytes(message.data()[:8], "big")
        latencies.append((time.monotonic_ns() - sent) / 1e6)
        consumer.acknowledge(message)


def summary(latencies: list[float]) -> dict[str, float]:
    ordered = sorted(latencies)
    return {
        "messages": len(ordered),
        "p50_ms": ordered[len(ordered) // 2],
        "p99_ms": ordered[len(ordered) * 99 // 100],
        "max_ms": ordered[-1],
    }


def main() -> None:
    service_url, topic, per_second = sys.argv[1:]
    client = official.Client(service_url, logger=official.ConsoleLogger(official.LoggerLevel.Error))
    consumer = client.subscribe(topic, "tail")
    producer = client.create_producer(topic, batching_enabled=False)
    latencies: list[float] = []
    threading.Thread(target=receive, args=(consumer, latencies), daemon=True).start()
    threading.Thread(target=send, args=(producer, float(per_second)), daemon=True).start()
    first = 0
    for line in sys.stdin:
        if line.strip() == "begin":
            first = len(latencies)
        else:
            print(json.dumps(summary(latencies[first:])), flush=True)
    os._exit(0)  # The threads run until the process ends.


if __name__ == "__main__":
    main()

"""Metrics of a service that tiers topics, as Prometheus reads them."""

from __future__ import annotations

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from pyspark_pulsar.tools.monitoring.exposition import Exposition
from pyspark_pulsar.tools.monitoring.tier_metrics import TierMetrics


def test_an_endpoint_answers_with_the_turns_of_each_topic() -> None:
    now = 100.0
    counts = TierMetrics(lambda: now)
    exposition = Exposition(counts.metrics)
    address = exposition.serve("127.0.0.1:0")
    try:
        counts.record("a", rows=3, files=1, size=50, is_fault=False, retention_used=0.6)
        counts.record("b", rows=0, files=0, size=0, is_fault=True, retention_used=0.9)
        now = 160.0
        counts.record("a", rows=4, files=2, size=70, is_fault=False, retention_used=None)
        counts.turn_ended()
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    finally:
        exposition.close()
    samples = {
        (sample.name.removeprefix("pyspark_pulsar_tier_"), sample.labels.get("topic")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    assert samples == {
        ("rows_total", "a"): 7, ("rows_total", "b"): 0,
        ("files_total", "a"): 3, ("files_total", "b"): 0,
        ("bytes_total", "a"): 120, ("bytes_total", "b"): 0,
        ("failures_total", "a"): 0, ("failures_total", "b"): 1,
        ("last_success_timestamp_seconds", "a"): 160,
        ("last_failure_timestamp_seconds", "b"): 100,
        # Nothing of topic a is left over any more.
        ("retention_used_ratio", "b"): 0.9,
        ("last_turn_timestamp_seconds", None): 160,
    }  # fmt: skip

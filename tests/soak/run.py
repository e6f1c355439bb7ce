"""A soak of the source, the sink, tiering, schema evolutions, checkpoints in Pulsar, or a session, on its own servers.

    make soak             (or: python tests/soak/run.py source --minutes 30 --seed 1)
    make soak-sink        (or: python tests/soak/run.py sink --kills 100 --seed 1)
    make soak-tier        (or: python tests/soak/run.py tier --kills 100 --seed 1)
    make soak-evolutions  (or: python tests/soak/run.py evolutions --evolutions 2000 --seed 1)
    make soak-checkpoint  (or: python tests/soak/run.py checkpoint --rounds 100)
    make soak-epochs      (or: python tests/soak/run.py epochs --epochs 2000)
    make soak-growth      (or: python tests/soak/run.py growth --epochs 10000 --queries 500)

The program prints the seed first. To repeat a soak, pass its seed. If a message is lost, repeated or out of order, the
program exits with status 1, and does not delete its logs. `sink --guarantee at-least-once` and `tier --retries` are
controls: they must end with status 1, because they repeat rows.
"""

from __future__ import annotations

import argparse
import json
import secrets
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from fixtures.cluster.pulsar_cluster import PulsarCluster
from fixtures.spark_cluster import spark_cluster
from soak.checkpoint_soaking import checkpoint_soak
from soak.epochs_soaking import epochs_soak
from soak.evolution.damage import DAMAGES
from soak.evolutions_soaking import evolutions_soak
from soak.growth_soaking import growth_soak
from soak.sink_soaking import sink_soak
from soak.soaking import soak
from soak.tier_soaking import tier_soak


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument(
        "what", choices=("source", "sink", "tier", "checkpoint", "epochs", "growth", "evolutions")
    )
    arguments.add_argument("--minutes", type=float, default=30.0, help="of source")
    arguments.add_argument("--checkpoint", default="folder", choices=("folder", "pulsar"), help="of source")
    arguments.add_argument("--rounds", type=int, default=100, help="of checkpoint")
    arguments.add_argument("--epochs", type=int, default=None, help="of epochs and growth")
    arguments.add_argument("--queries", type=int, default=500, help="of growth")
    arguments.add_argument("--rows", type=int, default=2_000, help="of epochs: of a micro-batch")
    arguments.add_argument("--kills", type=int, default=100, help="of sink and tier")
    arguments.add_argument("--guarantee", default="exactly-once", choices=("exactly-once", "at-least-once"))
    arguments.add_argument("--format", default="iceberg", choices=("iceberg", "delta"), help="of tier")
    arguments.add_argument("--retries", action="store_true", help="of tier: the control")
    arguments.add_argument("--evolutions", type=int, default=2_000, help="of evolutions")
    arguments.add_argument(
        "--damage", default=None, choices=sorted(DAMAGES), help="of evolutions: the control"
    )
    arguments.add_argument("--seed", type=int, default=None)
    arguments.add_argument("--result", type=Path, default=None, help="a file for the report, in JSON")
    given = arguments.parse_args()
    seed = secrets.randbits(32) if given.seed is None else given.seed
    _say(f"seed {seed}")
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    _say(f"logs in {folder}")
    report = _report(given, folder, seed)
    text = json.dumps(report, indent=2)
    _say(text)
    if given.result is not None:
        given.result.write_text(text + "\n")
    if report["faults"]:
        return 1
    shutil.rmtree(folder)
    return 0


def _report(given: argparse.Namespace, folder: Path, seed: int) -> dict[str, Any]:
    if given.what == "tier":
        return asdict(tier_soak(folder, seed, given.kills, given.format, _say, retries=given.retries))
    if given.what == "evolutions":
        return asdict(evolutions_soak(folder, seed, given.evolutions, _say, given.damage))
    if given.what == "checkpoint":
        return asdict(checkpoint_soak(folder, given.rounds, _say))
    if given.what == "epochs":
        return asdict(epochs_soak(folder, given.epochs or 2_000, given.rows, _say))
    if given.what == "growth":
        return asdict(growth_soak(folder, given.epochs or 10_000, given.queries, _say))
    cluster = PulsarCluster(folder / "cluster")
    with cluster.running(), spark_cluster(folder, workers=3) as spark:
        if given.what == "sink":
            return asdict(sink_soak(cluster, spark, folder, seed, given.kills, given.guarantee, _say))
        in_pulsar = given.checkpoint == "pulsar"
        return asdict(soak(cluster, spark, folder, seed, given.minutes * 60, _say, in_pulsar=in_pulsar))


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())

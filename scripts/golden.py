"""Write kernel/tests/data/golden.jsonl: entries that the classes of Pulsar's own Java client encode.

Each line is an entry. It contains the schema as the registry stores it (data in base64), and the entry in hexadecimal.
For each message it contains the payload in hexadecimal, and the cells that a reader of the topic must see. The same
Java classes decoded these cells (neutral JSON, see tests/java/Neutral.java). Null is a null value. The cases are in
tests/java/AllCases.java. Run the script as `make golden`. With `--check`, it writes nothing, and exits with 1 if the
file would change.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pyspark_pulsar.tools.standalone import fetch_server

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "kernel" / "tests" / "data" / "golden.jsonl"

sys.path.insert(0, str(ROOT / "tests"))
from fixtures.java_programs import java_programs  # noqa: E402 - tests are no package


def golden_lines() -> list[str]:
    home = fetch_server()
    return java_programs(home).run("Golden").splitlines()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("--check", action="store_true")
    check = arguments.parse_args().check
    made = golden_lines()
    if not check:
        GOLDEN.write_text("".join(f"{line}\n" for line in made), encoding="utf-8")
        print(f"{len(made)} entries in {GOLDEN.relative_to(ROOT)}")
        return
    stored = GOLDEN.read_text(encoding="utf-8").rstrip("\n").split("\n")
    changed = [json.loads(line)["name"] for line in set(made) ^ set(stored)]
    if stored != made:
        sys.exit(
            f"{GOLDEN.relative_to(ROOT)}: expected the entries of the client, got other entries for "
            f"{sorted(set(changed))}; run make golden"
        )
    print(f"{len(made)} entries are equal to the client's")


if __name__ == "__main__":
    main()

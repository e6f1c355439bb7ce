"""The package's own protocols in a simulated world. Importing this package replaces the clock of pyspark_pulsar."""

import sys

from simulation import runtime

if "pyspark_pulsar.runtime" in sys.modules:
    raise ImportError("expected no import of pyspark_pulsar before the simulation; run make simulate")
sys.modules["pyspark_pulsar.runtime"] = runtime

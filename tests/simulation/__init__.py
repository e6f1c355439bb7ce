"""The package's own protocols in a simulated world. Importing this package replaces the clock of pyspark_pulsar."""

import sys

from simulation import runtime

sys.modules["pyspark_pulsar.runtime"] = runtime

"""Entry point of `python -m pyspark_pulsar.tools.cli`."""

from pyspark_pulsar.tools.cli import main

main()

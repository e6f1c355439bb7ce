"""`python -m pyspark_pulsar.cli`."""

from pyspark_pulsar.cli import main

main()

"""A program that commits files to a table of columns, and that tests kill in the middle of a commit."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from pyspark_pulsar.history.columnar.topic_tables import table_catalog

settings, identifier, files, positions = pickle.loads(Path(sys.argv[1]).read_bytes())
table = table_catalog(tuple(settings.items()), ()).load(identifier)
assert table is not None
table.commit(files, positions)

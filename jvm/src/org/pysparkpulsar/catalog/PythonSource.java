package org.pysparkpulsar.catalog;

import org.apache.spark.sql.execution.datasources.DataSource$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.internal.SQLConf;

/** Spark's own face of the data source `pulsar`, which is written in Python. */
final class PythonSource {
  static final String NAME = "pulsar";

  private PythonSource() {}

  /**
   * A new one for each scan or write: Spark's keeps what the Python side has planned for its first query, filters
   * included, and would give it to the next.
   */
  static PythonDataSourceV2 make() {
    Object found = DataSource$.MODULE$.lookupDataSourceV2(NAME, SQLConf.get()).getOrElse(() -> null);
    if (found instanceof PythonDataSourceV2 source) {
      return source;
    }
    throw CatalogException.raised(
        "the Pulsar catalog: expected the data source 'pulsar' of the Python package pyspark-pulsar, got "
            + (found == null ? "none" : found.getClass().getName())
            + "; install the package in the interpreter that PYSPARK_PYTHON names, or call pyspark_pulsar.register");
  }
}

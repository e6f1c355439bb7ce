package org.pysparkpulsar.catalog;

import java.util.Map;
import org.apache.spark.sql.internal.SQLConf;

/** Which Python runs the catalog's process. */
final class Interpreter {
  private Interpreter() {}

  /** The catalog's setting `python`, else what Spark itself would run on the driver. */
  static String of(Map<String, String> settings) {
    String[] candidates = {
      settings.get("python"),
      SQLConf.get().getConfString("spark.pyspark.driver.python", null),
      SQLConf.get().getConfString("spark.pyspark.python", null),
      System.getenv("PYSPARK_DRIVER_PYTHON"),
      System.getenv("PYSPARK_PYTHON"),
    };
    for (String candidate : candidates) {
      if (candidate != null && !candidate.isBlank()) {
        return candidate;
      }
    }
    return "python3";
  }
}

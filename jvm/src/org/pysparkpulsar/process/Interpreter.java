package org.pysparkpulsar.process;

import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.internal.SQLConf;
import scala.jdk.javaapi.CollectionConverters;

/** The choice of the Python interpreter for each process. */
public final class Interpreter {
  private static final String CATALOG = "spark.sql.catalog.";
  private static final String CATALOG_CLASS = "org.pysparkpulsar.catalog.PulsarCatalog";
  private static final String OF_WORKERS = "spark.pyspark.python";

  /** Matches the message that Python writes if the package of a module in `-m` is missing. */
  private static final Pattern LACKING =
      Pattern.compile("Error while finding module specification for .* \\((ModuleNotFoundError: .*)\\)");

  private Interpreter() {}

  /**
   * Returns the interpreter of the driver: the setting `python` of the catalog, or Spark's own choice for the
   * driver. If neither is set, the result is the setting of any Pulsar catalog of the session.
   */
  public static String of(Map<String, String> settings) {
    return onDriver(settings.get("python"), ofAnyCatalog(), Interpreter::configured);
  }

  /**
   * Returns the interpreter of tasks. The result is PySpark's own choice for executors, or `driver` if
   * PySpark has no setting.
   */
  public static String ofExecutors(String driver) {
    return onExecutor(driver, Interpreter::configured);
  }

  /**
   * Returns the interpreter of the driver: `ofCatalog`, or Spark's own choice by its `setting`, or
   * `ofOthers`.
   */
  public static String onDriver(String ofCatalog, String ofOthers, UnaryOperator<String> setting) {
    return first(
        ofCatalog,
        setting.apply("spark.pyspark.driver.python"),
        setting.apply(OF_WORKERS),
        System.getenv("PYSPARK_DRIVER_PYTHON"),
        System.getenv("PYSPARK_PYTHON"),
        ofOthers);
  }

  /**
   * Returns the interpreter of an executor. The result is the interpreter of the executor's workers,
   * according to Spark's `setting`. Otherwise, the result is `driver`, which may not exist on the executor.
   */
  public static String onExecutor(String driver, UnaryOperator<String> setting) {
    return first(setting.apply(OF_WORKERS), System.getenv("PYSPARK_PYTHON"), driver);
  }

  /**
   * Returns the error for an interpreter that does not start, lacks this package, or cannot run its process.
   */
  static String refused(String purpose, String python, String cause) {
    Matcher lacking = LACKING.matcher(cause);
    return purpose + ": expected an interpreter with pyspark-pulsar, got " + python
        + (lacking.find() ? ", which reports: " + lacking.group(1) : ": " + cause)
        + "; set spark.pyspark.python (on the driver also spark.pyspark.driver.python or "
        + "spark.sql.catalog.<name>.python) to one that has the package";
  }

  private static String configured(String key) {
    return SQLConf.get().getConfString(key, null);
  }

  private static String ofAnyCatalog() {
    Map<String, String> all = CollectionConverters.asJava(SQLConf.get().getAllConfs());
    return all.entrySet().stream()
        .filter(entry -> entry.getKey().startsWith(CATALOG) && entry.getValue().equals(CATALOG_CLASS))
        .map(entry -> all.get(entry.getKey() + ".python"))
        .filter(python -> python != null && !python.isBlank())
        .sorted()
        .findFirst()
        .orElse(null);
  }

  private static String first(String... candidates) {
    for (String candidate : candidates) {
      if (candidate != null && !candidate.isBlank()) {
        return candidate;
      }
    }
    return "python3";
  }
}

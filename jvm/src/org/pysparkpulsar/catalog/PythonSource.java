package org.pysparkpulsar.catalog;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.ArraySeq;

/**
 * Spark's own face of the data source `pulsar`, which is written in Python; run by the interpreter that settings name.
 *
 * <p>Spark itself looks for such sources with the interpreter of an environment variable, else with `python3`: on a
 * cluster that is seldom one that has the package, and then the source is not found.
 *
 * <p>A new one for each scan or write: Spark's keeps what the Python side has planned for its first query, filters
 * included, and would give it to the next.
 */
public class PythonSource extends PythonDataSourceV2 {
  static final String NAME = "pulsar";
  /** What pickle makes of a class: its module and its name. */
  private static final byte[] PULSAR_DATA_SOURCE =
      "cpyspark_pulsar.datasource\nPulsarDataSource\n.".getBytes(StandardCharsets.US_ASCII);

  private UserDefinedPythonDataSource source;

  /** Spark names the one that it has found itself, and takes a name only once. */
  protected PythonSource() {}

  static PythonDataSourceV2 make() {
    PythonDataSourceV2 made = new PythonSource();
    made.setShortName(NAME);
    return made;
  }

  @Override
  public UserDefinedPythonDataSource source() {
    if (source == null) {
      String driver = Interpreter.of(Map.of());
      String version = Interpreter.version(driver);
      source =
          new OnTwoInterpreters(
              pythonClass(driver, version),
              new UserDefinedPythonDataSource(pythonClass(Interpreter.ofExecutors(driver), version)));
    }
    return source;
  }

  private static SimplePythonFunction pythonClass(String interpreter, String version) {
    Byte[] command = new Byte[PULSAR_DATA_SOURCE.length];
    for (int index = 0; index < command.length; index++) {
      command[index] = PULSAR_DATA_SOURCE[index];
    }
    return new SimplePythonFunction(
        ArraySeq.unsafeWrapArray(command),
        new HashMap<>(),
        new ArrayList<>(),
        interpreter,
        version,
        new ArrayList<>(),
        null);
  }

  /** Plans with one interpreter on the driver, and runs tasks with the one that executors have. */
  private static final class OnTwoInterpreters extends UserDefinedPythonDataSource {
    private final UserDefinedPythonDataSource onExecutors;

    OnTwoInterpreters(SimplePythonFunction onDriver, UserDefinedPythonDataSource onExecutors) {
      super(onDriver);
      this.onExecutors = onExecutors;
    }

    @Override
    public MapInBatchEvaluatorFactory createMapInBatchEvaluatorFactory(
        byte[] function,
        String name,
        StructType input,
        StructType output,
        scala.collection.immutable.Map<String, SQLMetric> metrics,
        Option<String> artifacts,
        Option<String> session) {
      return onExecutors.createMapInBatchEvaluatorFactory(
          function, name, input, output, metrics, artifacts, session);
    }
  }
}

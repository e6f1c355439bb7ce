package org.pysparkpulsar.source;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.pysparkpulsar.process.Interpreter;
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
  public static final String NAME = "pulsar";
  /** What pickle makes of a class: its module and its name. */
  private static final byte[] PULSAR_DATA_SOURCE =
      "cpyspark_pulsar.datasource\nPulsarDataSource\n.".getBytes(StandardCharsets.US_ASCII);

  private UserDefinedPythonDataSource source;
  private PythonDataSourceCreationResult made;

  /** Spark names the one that it has found itself, and takes a name only once. */
  protected PythonSource() {}

  public static PythonDataSourceV2 make() {
    PythonDataSourceV2 made = new PythonSource();
    made.setShortName(NAME);
    return made;
  }

  @Override
  public UserDefinedPythonDataSource source() {
    if (source == null) {
      String driver = Interpreter.of(Map.of());
      String version = DriverProcess.of(driver).version();
      source =
          new OnTwoInterpreters(
              pythonClass(driver, version), pythonClass(Interpreter.ofExecutors(driver), version));
    }
    return source;
  }

  /** The same object in Python, of which nothing has been planned. */
  PythonSource again(CaseInsensitiveStringMap options, StructType columns) {
    PythonSource other = (PythonSource) make();
    other.source = source();
    other.made = getOrCreateDataSourceInPython(NAME, options, Option.apply(columns));
    return other;
  }

  @Override
  public PythonDataSourceCreationResult getOrCreateDataSourceInPython(
      String name, CaseInsensitiveStringMap options, Option<StructType> columns) {
    if (made == null) {
      made = super.getOrCreateDataSourceInPython(name, options, columns);
    }
    return made;
  }

  @Override
  public Table getTable(StructType columns, Transform[] partitioning, Map<String, String> properties) {
    return new SourceTable(this, columns);
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
}

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
 * Spark's interface to the data source `pulsar`, which is written in Python and runs in the configured
 * interpreter.
 *
 * <p>Spark itself looks for such sources with the interpreter of an environment variable, or with `python3`.
 * On a cluster, that interpreter often does not contain the package. Then Spark does not find the source.
 *
 * <p>Each scan or write needs a new instance. Spark's class keeps the plan of its first query, including
 * filters, and would return it to the next query.
 */
public class PythonSource extends PythonDataSourceV2 {
  public static final String NAME = "pulsar";
  /** The pickle of the Python class, which consists of the module and the name of the class. */
  private static final byte[] PULSAR_DATA_SOURCE =
      "cpyspark_pulsar.datasource\nPulsarDataSource\n.".getBytes(StandardCharsets.US_ASCII);

  private UserDefinedPythonDataSource source;
  private PythonDataSourceCreationResult made;

  /**
   * Creates a source without a name. Spark sets the name of a source when it finds the source, and the name
   * can be set only once.
   */
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

  /** Returns a new source for the same Python object, without a plan. */
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

package org.pysparkpulsar.source;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import scala.collection.immutable.ArraySeq;

/** The data source `pulsar` with another class in Python, that of bench/peers/ready_rows.py; all else is the jar's own. */
public final class ReadyColumns extends PythonSource {
  private static final byte[] READY_COLUMNS = "cready_rows\nReadyColumns\n.".getBytes(StandardCharsets.US_ASCII);

  private UserDefinedPythonDataSource ready;

  @Override
  public UserDefinedPythonDataSource source() {
    if (ready == null) {
      String python = Interpreter.of(Map.of());
      Byte[] command = new Byte[READY_COLUMNS.length];
      for (int index = 0; index < command.length; index++) {
        command[index] = READY_COLUMNS[index];
      }
      SimplePythonFunction function =
          new SimplePythonFunction(
              ArraySeq.unsafeWrapArray(command), new HashMap<>(), new ArrayList<>(), python, Interpreter.version(python),
              new ArrayList<>(), null);
      ready = new OnTwoInterpreters(function, function);
    }
    return ready;
  }
}

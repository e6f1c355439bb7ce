package org.pysparkpulsar.source;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonWorkerUtils$;
import org.apache.spark.api.python.SpecialLengths$;
import org.apache.spark.sql.errors.QueryCompilationErrors$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStream;
import org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.collection.immutable.Set$;

/** Spark's conversation with a stream's reader in Python, held with the process that stays instead of one of its own. */
final class StreamRunner extends PythonStreamingSourceRunner {
  /** What Spark calls the files of a stream's planning. */
  private static final String FILES = "streaming_job";

  private final PythonFunction function;
  private final StructType columns;
  private ProgramConnection connection;

  private StreamRunner(PythonFunction function, StructType columns) {
    super(function, columns);
    this.function = function;
    this.columns = columns;
  }

  /** Spark's own where this version of Spark keeps its streams elsewhere. */
  static PythonStreamingSourceRunner of(
      PythonDataSourceV2 source, String name, StructType columns, CaseInsensitiveStringMap options) {
    if (!DriverPrograms.POSSIBLE) {
      return PythonMicroBatchStream.createPythonStreamingSourceRunner(source, name, columns, options);
    }
    byte[] made = source.getOrCreateDataSourceInPython(name, options, Option.apply(columns)).dataSource();
    return new StreamRunner(source.source().createPythonFunction(made), columns);
  }

  /** Throws where Spark has not the places to which {@link #init} brings its streams. */
  static void find() throws NoSuchFieldException {
    place("dataOut");
    place("dataIn");
  }

  @Override
  public void init() {
    connection = DriverProcess.of(function.pythonExec()).connect(workerModule());
    DataOutputStream output = connection.output();
    DataInputStream input = connection.input();
    PythonWorkerUtils$ protocol = PythonWorkerUtils$.MODULE$;
    try {
      protocol.writePythonVersion(function.pythonVer(), output);
      protocol.writeSparkFiles(Option.apply(FILES), Set$.MODULE$.empty(), output);
      protocol.writePythonFunction(function, output);
      protocol.writeUTF(columns.json(), output);
      output.writeInt(SQLConf.get().arrowMaxRecordsPerBatch());
      output.flush();
      if (input.readInt() == SpecialLengths$.MODULE$.PYTHON_EXCEPTION_THROWN()) {
        String message = protocol.readUTF(input).stripTrailing();
        throw PulsarException.thrown(QueryCompilationErrors$.MODULE$.pythonDataSourceError("plan", "initialize source", message));
      }
      set("dataOut", output);
      set("dataIn", input);
    } catch (IOException | ReflectiveOperationException fault) {
      stop();
      throw PulsarException.thrown(fault);
    }
  }

  @Override
  public void stop() {
    try {
      if (connection != null) {
        connection.close();
      }
    } catch (IOException fault) {
      // It is closed all the same.
    }
    super.stop();
  }

  private void set(String name, Object stream) throws ReflectiveOperationException {
    place(name).set(this, stream);
  }

  private static Field place(String name) throws NoSuchFieldException {
    Field field = PythonStreamingSourceRunner.class.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}

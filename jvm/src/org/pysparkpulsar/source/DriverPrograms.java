package org.pysparkpulsar.source;

import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import net.razorvine.pickle.Pickler;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonWorkerUtils$;
import org.apache.spark.api.python.SpecialLengths$;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSinkCommitRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceCommitRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceFilterPushdownRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceReadRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceWriteRunner;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.Seq;
import scala.collection.immutable.Map;
import scala.collection.immutable.Set$;

/**
 * The input of Spark's planning programs in {@link DriverProcess}, and the check whether this version of
 * Spark can use that process. If not, Spark starts a process for each program.
 */
final class DriverPrograms {
  /** The result of a check that runs once in a JVM, and logs a negative result. */
  static final boolean POSSIBLE = find();

  /** The name that Spark uses for the files of a query's planning. No such files exist. */
  private static final String FILES = "planning";

  private DriverPrograms() {}

  /** Writes the input for the program of `runner`. `version` is the version of Python that runs the program. */
  static void write(String version, PythonPlannerRunner<?> runner, DataOutputStream output) throws IOException {
    boolean whole = readsAll();
    if (whole) {
      PythonWorkerUtils$ protocol = PythonWorkerUtils$.MODULE$;
      protocol.writePythonVersion(version, output);
      protocol.writeSparkFiles(Option.apply(FILES), Set$.MODULE$.empty(), output);
      // The program has no broadcast variables, so no server is needed to decrypt them.
      output.writeBoolean(false);
      output.writeInt(0);
    }
    runner.writeToPython(output, new Pickler(true, false));
    if (whole) {
      output.writeInt(SpecialLengths$.MODULE$.END_OF_STREAM());
    }
  }

  /**
   * Returns whether a program reads its whole input itself. In Spark 4.1, a program is one function that also
   * reads the values that Spark writes to every process (`spark/driver_process.py`).
   */
  private static boolean readsAll() {
    return Arrays.stream(PythonPlannerRunner.class.getDeclaredMethods()).noneMatch(it -> it.getName().equals("runnerConf"));
  }

  /** Looks up all parts of Spark that this class uses and that have no public interface. */
  private static boolean find() {
    return SparkParts.found(
        DriverPrograms.class,
        "Queries of Pulsar are correct but start slower, because Spark starts a Python process for each step of their "
            + "planning. The internals of this version of Spark differ from 4.3: {}",
        () -> {
          PythonPlannerRunner.class.getMethod("writeToPython", DataOutputStream.class, Pickler.class);
          PythonPlannerRunner.class.getMethod("receiveFromPython", java.io.DataInputStream.class);
          UserDefinedPythonDataSourceRunner.class.getConstructor(
              PythonFunction.class, String.class, Option.class, CaseInsensitiveMap.class);
          UserDefinedPythonDataSourceFilterPushdownRunner.class.getConstructor(
              PythonFunction.class, StructType.class, Seq.class);
          UserDefinedPythonDataSourceReadRunner.class.getConstructor(
              PythonFunction.class, StructType.class, StructType.class, boolean.class);
          UserDefinedPythonDataSourceWriteRunner.class.getConstructor(
              PythonFunction.class, String.class, StructType.class, Map.class, boolean.class, boolean.class);
          UserDefinedPythonDataSourceCommitRunner.class.getConstructor(
              PythonFunction.class, byte[].class, WriterCommitMessage[].class, boolean.class);
          PythonStreamingSinkCommitRunner.class.getConstructor(
              PythonFunction.class, StructType.class, WriterCommitMessage[].class, long.class, boolean.class, boolean.class);
        });
  }
}

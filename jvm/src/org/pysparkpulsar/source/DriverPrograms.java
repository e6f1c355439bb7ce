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

/** Whether this Spark's planning programs can run in {@link DriverProcess}. Otherwise Spark starts a process for each. */
final class DriverPrograms {
  /** Found out once in a JVM, which says so where the answer is no. */
  static final boolean POSSIBLE = find();

  /** What Spark calls the files of a query's planning; there are none. */
  private static final String FILES = "planning";

  private DriverPrograms() {}

  /** What the program of `runner` reads, a Python of this `version`. */
  static void write(String version, PythonPlannerRunner<?> runner, DataOutputStream output) throws IOException {
    boolean whole = readsAll();
    if (whole) {
      PythonWorkerUtils$ protocol = PythonWorkerUtils$.MODULE$;
      protocol.writePythonVersion(version, output);
      protocol.writeSparkFiles(Option.apply(FILES), Set$.MODULE$.empty(), output);
      // Broadcast variables: none, and no server that decrypts them.
      output.writeBoolean(false);
      output.writeInt(0);
    }
    runner.writeToPython(output, new Pickler(true, false));
    if (whole) {
      output.writeInt(SpecialLengths$.MODULE$.END_OF_STREAM());
    }
  }

  /** In Spark 4.1 a program is one function, which reads what Spark tells each process, too (`spark/driver_process.py`). */
  private static boolean readsAll() {
    return Arrays.stream(PythonPlannerRunner.class.getDeclaredMethods()).noneMatch(it -> it.getName().equals("runnerConf"));
  }

  /** All that is taken of Spark and is no interface of Spark's. */
  private static boolean find() {
    return SparkParts.found(
        DriverPrograms.class,
        "Spark starts a Python process for each step of a Pulsar query's planning, as this version of Spark differs "
            + "inside from 4.3 ({}): queries are right, and start slower",
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

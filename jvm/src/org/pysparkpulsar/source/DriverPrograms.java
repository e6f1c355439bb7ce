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
 * The input of Spark's planning programs in {@link DriverProcess}, and whether this Spark can use it.
 * Otherwise Spark starts a process for each program.
 */
final class DriverPrograms {
  /** The result of a check that runs once in a JVM, and logs a negative result. */
  static final boolean POSSIBLE = find();

  /** Spark's name for the files of a query's planning. There are no such files. */
  private static final String FILES = "planning";

  private DriverPrograms() {}

  /** Writes the input of the program of `runner`, for a Python of this `version`. */
  static void write(String version, PythonPlannerRunner<?> runner, DataOutputStream output) throws IOException {
    boolean whole = readsAll();
    if (whole) {
      PythonWorkerUtils$ protocol = PythonWorkerUtils$.MODULE$;
      protocol.writePythonVersion(version, output);
      protocol.writeSparkFiles(Option.apply(FILES), Set$.MODULE$.empty(), output);
      // There are no broadcast variables, and no server that decrypts them.
      output.writeBoolean(false);
      output.writeInt(0);
    }
    runner.writeToPython(output, new Pickler(true, false));
    if (whole) {
      output.writeInt(SpecialLengths$.MODULE$.END_OF_STREAM());
    }
  }

  /**
   * Returns whether a program reads all its input itself. In Spark 4.1 it is one function, which also reads
   * what Spark writes to each process (`spark/driver_process.py`).
   */
  private static boolean readsAll() {
    return Arrays.stream(PythonPlannerRunner.class.getDeclaredMethods()).noneMatch(it -> it.getName().equals("runnerConf"));
  }

  /** Looks up all parts of Spark that are used here without an interface. */
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

package org.pysparkpulsar.source;

import org.apache.spark.api.python.PythonFunction;
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
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.collection.Seq;
import scala.collection.immutable.Map;

/** Whether this Spark's planning programs can run in {@link DriverProcess}. Otherwise Spark starts a process for each. */
final class DriverPrograms {
  /** Found out once in a JVM, which says so where the answer is no. */
  static final boolean POSSIBLE = find();

  private DriverPrograms() {}

  /** All that is taken of Spark and is no interface of Spark's. */
  private static boolean find() {
    try {
      PythonPlannerRunner.class.getMethod("writeToPython", java.io.DataOutputStream.class, net.razorvine.pickle.Pickler.class);
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
      StreamRunner.find();
      return true;
    } catch (ReflectiveOperationException | LinkageError fault) {
      LoggerFactory.getLogger(DriverPrograms.class)
          .warn(
              "Spark starts a Python process for each step of a Pulsar query's planning, as this version of Spark differs "
                  + "inside from 4.3 ({}): queries are right, and start slower",
              fault.toString());
      return false;
    }
  }
}

package org.pysparkpulsar.source;

import java.lang.reflect.Constructor;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * What Spark's `MapInBatchEvaluator` does for a source in Python, up to the point at which it makes rows: it sends a
 * partition to the Python worker, and gives the record batches that come back.
 *
 * <p>The evaluator's parts have no interface, so they are looked up by name, all of them in {@link #find} too, which asks
 * beforehand whether they are there.
 */
final class BatchRunner {
  private static final Class<?> EVALUATORS = MapInBatchEvaluatorFactory.class;
  private static final String[] PARTS = {
    "chainedFunc", "pythonEvalType", "inputSchema", "outputSchema", "sessionLocalTimeZone", "largeVarTypes",
    "pythonRunnerConf", "jobArtifactUUID", "sessionUUID"
  };

  private BatchRunner() {}

  /** Throws where Spark has not what {@link #run} takes of it. */
  static Constructor<ArrowPythonRunner> find() throws ReflectiveOperationException {
    for (String part : PARTS) {
      ScalaField.of(EVALUATORS, part);
    }
    EVALUATORS.getMethod("pythonMetrics");
    return ArrowPythonRunner.class.getConstructor(
        Seq.class, int.class, int[][].class, StructType.class, String.class, boolean.class, Map.class, Map.class,
        Option.class, Option.class);
  }

  /** In a task. Of each batch the first column is a struct, whose fields are the columns; the next batch overwrites it. */
  static Iterator<ColumnarBatch> run(MapInBatchEvaluatorFactory evaluators, byte[] partition)
      throws ReflectiveOperationException {
    TaskContext task = TaskContext.get();
    DataType argument = part(evaluators, "inputSchema");
    StructType input =
        new StructType(new StructField[] {new StructField("struct", argument, true, Metadata.empty())});
    ArrowPythonRunner runner =
        find()
            .newInstance(
                part(evaluators, "chainedFunc"),
                part(evaluators, "pythonEvalType"),
                new int[][] {{0}},
                input,
                part(evaluators, "sessionLocalTimeZone"),
                part(evaluators, "largeVarTypes"),
                part(evaluators, "pythonRunnerConf"),
                evaluators.pythonMetrics(),
                part(evaluators, "jobArtifactUUID"),
                part(evaluators, "sessionUUID"));
    InternalRow row = new GenericInternalRow(new Object[] {new GenericInternalRow(new Object[] {partition})});
    Iterator<InternalRow> rows = scala.package$.MODULE$.Iterator().single(row);
    return runner.compute(scala.package$.MODULE$.Iterator().single(rows), task.partitionId(), task);
  }

  private static <T> T part(MapInBatchEvaluatorFactory evaluators, String name) throws ReflectiveOperationException {
    return ScalaField.get(evaluators, EVALUATORS, name);
  }
}

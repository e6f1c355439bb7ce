package org.pysparkpulsar.source;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.InterruptibleIterator;
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
 * partition, or the rows of a write, to the Python worker, and gives the record batches that come back.
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
  private static final Class<?>[] ARGUMENTS = {
    Seq.class, int.class, int[][].class, StructType.class, String.class, boolean.class, Map.class, Map.class,
    Option.class, Option.class
  };
  /** The last argument of Spark 4.1, and of no later one. */
  private static final String PROFILER = "profiler";

  private BatchRunner() {}

  /** Throws where Spark has not what {@link #run} takes of it. */
  static Constructor<ArrowPythonRunner> find() throws ReflectiveOperationException {
    for (String part : PARTS) {
      ScalaField.of(EVALUATORS, part);
    }
    EVALUATORS.getMethod("pythonMetrics");
    try {
      return ArrowPythonRunner.class.getConstructor(ARGUMENTS);
    } catch (NoSuchMethodException fault) {
      ScalaField.of(EVALUATORS, PROFILER);
      Class<?>[] arguments = Arrays.copyOf(ARGUMENTS, ARGUMENTS.length + 1);
      arguments[ARGUMENTS.length] = Option.class;
      return ArrowPythonRunner.class.getConstructor(arguments);
    }
  }

  /** In a task: the record batches of a partition. */
  static Iterator<ColumnarBatch> run(MapInBatchEvaluatorFactory evaluators, byte[] partition)
      throws ReflectiveOperationException {
    InternalRow row = new GenericInternalRow(new Object[] {new GenericInternalRow(new Object[] {partition})});
    Iterator<InternalRow> rows = scala.package$.MODULE$.Iterator().single(row);
    return run(evaluators, scala.package$.MODULE$.Iterator().single(rows));
  }

  /**
   * In a task: sends each of `batches` as one record batch. Of each that comes back the first column is a struct, whose
   * fields are the columns; the next one overwrites it.
   */
  static Iterator<ColumnarBatch> run(MapInBatchEvaluatorFactory evaluators, Iterator<Iterator<InternalRow>> batches)
      throws ReflectiveOperationException {
    TaskContext task = TaskContext.get();
    DataType argument = part(evaluators, "inputSchema");
    StructType input =
        new StructType(new StructField[] {new StructField("struct", argument, true, Metadata.empty())});
    List<Object> arguments = new ArrayList<>();
    arguments.add(part(evaluators, "chainedFunc"));
    arguments.add(part(evaluators, "pythonEvalType"));
    arguments.add(new int[][] {{0}});
    arguments.add(input);
    arguments.add(part(evaluators, "sessionLocalTimeZone"));
    arguments.add(part(evaluators, "largeVarTypes"));
    arguments.add(part(evaluators, "pythonRunnerConf"));
    arguments.add(evaluators.pythonMetrics());
    arguments.add(part(evaluators, "jobArtifactUUID"));
    arguments.add(part(evaluators, "sessionUUID"));
    Constructor<ArrowPythonRunner> constructor = find();
    if (constructor.getParameterCount() > arguments.size()) {
      arguments.add(part(evaluators, PROFILER));
    }
    ArrowPythonRunner runner = constructor.newInstance(arguments.toArray());
    return runner.compute(batches, task.partitionId(), task);
  }

  /**
   * Ends the Python worker of a task that has rows enough, before Spark's runner hangs up on it: it would log a traceback
   * of the broken pipe, and end. Where Spark has the worker elsewhere, it does.
   */
  static void endWorker(Iterator<ColumnarBatch> given) {
    Iterator<?> batches = given instanceof InterruptibleIterator<?> outer ? outer.delegate() : given;
    for (Class<?> each = batches.getClass(); each != null; each = each.getSuperclass()) {
      for (Field field : each.getDeclaredFields()) {
        if (field.getName().endsWith("$$handle") || field.getName().endsWith("$$pid")) {
          end(batches, field);
          return;
        }
      }
    }
  }

  /** Spark 4.3 keeps a handle of the process, earlier ones its id. */
  private static void end(Iterator<?> batches, Field field) {
    try {
      field.setAccessible(true);
      Object worker = ((Option<?>) field.get(batches)).getOrElse(() -> null);
      if (worker instanceof Number id) {
        ProcessHandle.of(id.longValue()).ifPresent(ProcessHandle::destroy);
      } else if (worker != null) {
        Class.forName("org.apache.spark.api.python.PythonWorkerHandle").getMethod("destroy").invoke(worker);
      }
    } catch (ReflectiveOperationException | RuntimeException fault) {
      // Then the log has a traceback, and all is as it was.
    }
  }

  private static <T> T part(MapInBatchEvaluatorFactory evaluators, String name) throws ReflectiveOperationException {
    return ScalaField.get(evaluators, EVALUATORS, name);
  }
}

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
 * A replacement for Spark's `MapInBatchEvaluator` for sources in Python, which does not convert batches to
 * rows. This class sends a partition, or the rows of a write, to the Python worker, and returns the worker's
 * record batches.
 *
 * <p>The parts of the evaluator have no public interface, so they are looked up by name. Before the first
 * use, {@link #find} checks whether all parts exist.
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
  /** The name of the last argument, which exists only in Spark 4.1. */
  private static final String PROFILER = "profiler";

  private BatchRunner() {}

  /** Looks up the parts of Spark that {@link #run} needs, and throws if one does not exist. */
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

  /** Reads the record batches of a partition, in a task. */
  static Iterator<ColumnarBatch> run(MapInBatchEvaluatorFactory evaluators, byte[] partition)
      throws ReflectiveOperationException {
    InternalRow row = new GenericInternalRow(new Object[] {new GenericInternalRow(new Object[] {partition})});
    Iterator<InternalRow> rows = scala.package$.MODULE$.Iterator().single(row);
    return run(evaluators, scala.package$.MODULE$.Iterator().single(rows));
  }

  /**
   * Sends each of `batches` as one record batch, in a task. The first column of each returned batch is a
   * struct, whose fields are the columns. The next batch overwrites the memory of this batch.
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
   * Ends the Python worker of a task that needs no more rows, before Spark's runner closes its connection. Otherwise
   * the worker would log a traceback of the broken pipe before it ends.
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

  /** Ends the worker. Spark 4.3 stores a handle of the process; earlier versions store the id of the process. */
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
      // The only effect of a failure here is a traceback in the log.
    }
  }

  private static <T> T part(MapInBatchEvaluatorFactory evaluators, String name) throws ReflectiveOperationException {
    return ScalaField.get(evaluators, EVALUATORS, name);
  }
}

package org.pysparkpulsar.source;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.arrow.vector.FieldVector;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.api.python.PythonException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric$;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/**
 * The record batches of one partition, read on an executor. Each batch owns its memory ({@link HeapVector}).
 *
 * <p>Spark's runner frees its Arrow memory when the task ends, in the task's thread. At the same time, an
 * operator may request the next batch in another thread ({@code SELECT TRANSFORM} with a limit). So both
 * threads use a lock. The end of the task waits until the other thread has left the runner. A thread that
 * requests a batch later gets an error instead of freed memory.
 */
final class ColumnarReader implements PartitionReader<ColumnarBatch> {
  private static final Logger LOG = LoggerFactory.getLogger(ColumnarReader.class);
  /**
   * The maximum wait at the end of the task, in seconds. A thread leaves the runner as soon as its Python
   * worker has ended.
   */
  private static final long LEAVE_SECONDS = 20;

  private final UserDefinedPythonDataSource source;
  private final StructType columns;
  private final Map<String, SQLMetric> metrics;
  private final Iterator<ColumnarBatch> batches;
  private final TaskCounts counts;
  private final CountsFile counted;
  /** The lock that a thread acquires while it is inside Spark's runner, or copies a batch of the runner. */
  private final ReentrantLock inRunner = new ReentrantLock();
  private volatile Thread reading;
  private volatile boolean taskEnded;
  private volatile boolean allRead;
  /** The batch that was returned last. */
  private HeapVector[] current = {};

  /**
   * Creates a reader. When the task has read all batches, the counts of its Python worker are added to
   * `counts`, unless `counts` is null.
   */
  ColumnarReader(ColumnarReaderFactory.Origin origin, byte[] partition, TaskCounts counts) {
    this.counts = counts;
    counted = counts == null ? CountsFile.NONE : CountsFile.make();
    source = origin.source();
    columns = origin.columns();
    metrics = PythonCustomMetric$.MODULE$.pythonMetrics();
    MapInBatchEvaluatorFactory evaluators =
        source.createMapInBatchEvaluatorFactory(
            origin.function(),
            "read_from_data_source",
            UserDefinedPythonDataSource.readInputSchema(),
            origin.columns(),
            metrics,
            origin.artifacts(),
            origin.session());
    try {
      batches = BatchRunner.run(evaluators, partition);
    } catch (ReflectiveOperationException fault) {
      throw new IllegalStateException(fault);
    }
    // Spark calls listeners in reverse order. So this listener runs before the runner's own listener, which
    // frees the memory.
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> endWithTask());
  }

  @Override
  public boolean next() {
    enter();
    try {
      if (!allRead && !batches.hasNext()) {
        allRead = true;
        for (java.util.Map<String, Long> each : counted.take()) {
          counts.add(each);
        }
      }
    } catch (PythonException fault) {
      throw PackageError.withoutFrames(fault);
    } finally {
      leave();
    }
    return !allRead;
  }

  @Override
  public ColumnarBatch get() {
    enter();
    try {
      ColumnarBatch batch = batches.next();
      ArrowColumnVector row = (ArrowColumnVector) batch.column(0);
      HeapVector[] copies = new HeapVector[columns.size()];
      for (int index = 0; index < copies.length; index++) {
        FieldVector vector = (FieldVector) row.getChild(index).getValueVector();
        copies[index] = HeapVector.copyOf(columns.fields()[index].dataType(), vector);
      }
      current = copies;
      return new ColumnarBatch(copies, batch.numRows());
    } finally {
      leave();
    }
  }

  private void enter() {
    inRunner.lock();
    reading = Thread.currentThread();
    if (taskEnded && !allRead) {
      leave();
      throw taskHasEnded();
    }
  }

  /**
   * Returns the error of a thread that reads after its task has ended. The error has no stack frames, because
   * Spark logs the error for each such thread.
   */
  static RuntimeException taskHasEnded() {
    RuntimeException fault =
        new TaskKilledException("the task that reads these rows has ended; read all rows before the task ends");
    fault.setStackTrace(new StackTraceElement[0]);
    return fault;
  }

  private void leave() {
    reading = null;
    inRunner.unlock();
  }

  /**
   * Ends the reader in the task's thread. First, the Python worker is ended. This wakes a thread that waits
   * for the worker's rows.
   */
  private void endWithTask() {
    taskEnded = true;
    if (!allRead) {
      BatchRunner.endWorker(batches);
    }
    if (!left()) {
      Thread other = reading;
      if (other != null) {
        other.interrupt();
      }
      if (!left()) {
        LOG.error("A thread still reads record batches of Pulsar {} s after its task ended: {}", 2 * LEAVE_SECONDS, other);
      }
    }
    for (HeapVector each : current) {
      each.release();
    }
    if (!allRead) {
      counted.take();
    }
  }

  /**
   * Waits until no thread is inside the runner. The method also waits if the task was interrupted. Returns
   * false at the deadline.
   */
  private boolean left() {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(LEAVE_SECONDS);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          if (!inRunner.tryLock(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
            return false;
          }
          inRunner.unlock();
          return true;
        } catch (InterruptedException fault) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return SparkParts.values(source, metrics);
  }

  /** Does nothing, because Spark's runner ends together with the task, and frees its memory at this time. */
  @Override
  public void close() {
    // The reader has no resources of its own.
  }
}

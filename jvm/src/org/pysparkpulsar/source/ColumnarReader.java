package org.pysparkpulsar.source;

import org.apache.spark.TaskContext;
import org.apache.spark.api.python.PythonException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric$;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;
import scala.collection.Iterator;
import scala.collection.immutable.Map;

/** The record batches of one partition, on an executor. A batch is good until the next one is asked for. */
final class ColumnarReader implements PartitionReader<ColumnarBatch> {
  private final UserDefinedPythonDataSource source;
  private final Map<String, SQLMetric> metrics;
  private final Iterator<ColumnarBatch> batches;
  private final TaskCounts counts;
  private final CountsFile counted;
  private boolean ended;

  /** `counts`: what the task's Python counts is added to it when the task has read all; null where nobody asks. */
  ColumnarReader(ColumnarReaderFactory.Origin origin, byte[] partition, TaskCounts counts) {
    this.counts = counts;
    counted = counts == null ? CountsFile.NONE : CountsFile.make();
    source = origin.source();
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
    // Called before the runner's own, which was there first.
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) task -> endEarly());
  }

  private void endEarly() {
    if (!ended) {
      BatchRunner.endWorker(batches);
      counted.take();
    }
  }

  @Override
  public boolean next() {
    try {
      if (!ended && !batches.hasNext()) {
        ended = true;
        for (java.util.Map<String, Long> each : counted.take()) {
          counts.add(each);
        }
      }
    } catch (PythonException fault) {
      throw OwnError.withoutFrames(fault);
    }
    return !ended;
  }

  @Override
  public ColumnarBatch get() {
    ColumnarBatch batch = batches.next();
    ArrowColumnVector row = (ArrowColumnVector) batch.column(0);
    int count = row.getValueVector().getField().getChildren().size();
    ColumnVector[] columns = new ColumnVector[count];
    for (int index = 0; index < count; index++) {
      columns[index] = new BorrowedVector(row.getChild(index).getValueVector());
    }
    return new ColumnarBatch(columns, batch.numRows());
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return SparkParts.values(source, metrics);
  }

  /** Spark's runner ends with the task, and frees its memory then. */
  @Override
  public void close() {
    // Nothing is this reader's own.
  }
}

package org.pysparkpulsar.source;

import java.util.Iterator;
import org.apache.spark.api.python.PythonException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric$;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.Map;

/**
 * The writer of one task on an executor. It sends the rows to the task's Python worker, and receives the
 * commit message.
 */
final class RowsWriter implements DataWriter<InternalRow> {
  /** The name that Spark uses for the program that the Python worker runs. */
  private static final String PROGRAM = "write_to_data_source";

  private final PythonBatchWriterFactory origin;
  private final Map<String, SQLMetric> metrics = PythonCustomMetric$.MODULE$.pythonMetrics();
  private WriterCommitMessage message;

  RowsWriter(PythonBatchWriterFactory origin) {
    this.origin = origin;
  }

  /** Writes all rows of a task, which Spark passes in one call. */
  @Override
  public void writeAll(Iterator<InternalRow> rows) {
    MapInBatchEvaluatorFactory evaluators =
        origin.source().createMapInBatchEvaluatorFactory(
            origin.pickledWriteFunc(), PROGRAM, origin.inputSchema(), UserDefinedPythonDataSource.writeOutputSchema(),
            metrics, origin.jobArtifactUUID(), origin.sessionUUID());
    try {
      scala.collection.Iterator<ColumnarBatch> answers =
          BatchRunner.run(evaluators, new RowBatches(rows, origin.inputSchema()));
      while (answers.hasNext()) {
        take(answers.next());
      }
    } catch (PythonException fault) {
      throw PackageError.withoutFrames(fault);
    } catch (ReflectiveOperationException fault) {
      throw new IllegalStateException(fault);
    }
    if (message == null) {
      throw new IllegalStateException(
          "write to Pulsar: expected a commit message from the task's Python worker, got none; report this as a bug");
    }
  }

  private void take(ColumnarBatch batch) {
    ArrowColumnVector messages = ((ArrowColumnVector) batch.column(0)).getChild(0);
    for (int row = 0; row < batch.numRows(); row++) {
      if (message != null) {
        throw new IllegalStateException(
            "write to Pulsar: expected one commit message from the task's Python worker, got more; report this as a "
                + "bug");
      }
      message = new PythonWriterCommitMessage(messages.getBinary(row));
    }
  }

  @Override
  public void write(InternalRow row) {
    throw new UnsupportedOperationException("expected all rows of a task in one call, got a single row");
  }

  @Override
  public WriterCommitMessage commit() {
    return message;
  }

  /**
   * Does nothing. The driver receives no commit message from this task, so the driver aborts the rows that
   * the task sent.
   */
  @Override
  public void abort() {
    // The writer has no resources of its own.
  }

  @Override
  public void close() {
    // The writer has no resources of its own.
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return SparkParts.values(origin.source(), metrics);
  }
}

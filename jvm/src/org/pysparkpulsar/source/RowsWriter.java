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

/** The rows of one task to its Python worker, on an executor, and the commit message that comes back. */
final class RowsWriter implements DataWriter<InternalRow> {
  /** As Spark calls this program of a worker. */
  private static final String PROGRAM = "write_to_data_source";

  private final PythonBatchWriterFactory origin;
  private final Map<String, SQLMetric> metrics = PythonCustomMetric$.MODULE$.pythonMetrics();
  private WriterCommitMessage message;

  RowsWriter(PythonBatchWriterFactory origin) {
    this.origin = origin;
  }

  /** Spark gives all rows of a task at once. */
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
      throw OwnError.withoutFrames(fault);
    } catch (ReflectiveOperationException fault) {
      throw new IllegalStateException(fault);
    }
    if (message == null) {
      throw new IllegalStateException("expected a commit message of the task's Python worker, got none");
    }
  }

  private void take(ColumnarBatch batch) {
    ArrowColumnVector messages = ((ArrowColumnVector) batch.column(0)).getChild(0);
    for (int row = 0; row < batch.numRows(); row++) {
      if (message != null) {
        throw new IllegalStateException("expected one commit message of the task's Python worker, got more");
      }
      message = new PythonWriterCommitMessage(messages.getBinary(row));
    }
  }

  @Override
  public void write(InternalRow row) {
    throw new UnsupportedOperationException("expected all rows of a task at once, got one");
  }

  @Override
  public WriterCommitMessage commit() {
    return message;
  }

  /** What was sent is the driver's to take back: it has no commit message of this task. */
  @Override
  public void abort() {
    // Nothing is this writer's own.
  }

  @Override
  public void close() {
    // As above.
  }

  @Override
  public CustomTaskMetric[] currentMetricsValues() {
    return SparkParts.values(origin.source(), metrics);
  }
}

package org.pysparkpulsar.source;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWriterFactory;

/**
 * A factory of writers that run the same Python function as Spark's own writers, on the batches of {@link
 * RowBatches}.
 */
final class RowsWriterFactory implements DataWriterFactory, StreamingDataWriterFactory {
  private static final long serialVersionUID = 1;

  /** Spark's own factory, of a batch or of a stream. */
  private final PythonBatchWriterFactory origin;

  RowsWriterFactory(PythonBatchWriterFactory origin) {
    this.origin = origin;
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return new RowsWriter(origin);
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long epoch) {
    return createWriter(partition, task);
  }
}

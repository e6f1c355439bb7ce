package org.pysparkpulsar.source;

import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatchWriterFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSinkCommitRunner;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWrite;
import org.apache.spark.sql.execution.datasources.v2.python.PythonWriteBuilder;
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;
import scala.Option;

/**
 * Spark's own write to a sink in Python. The driver process commits the epochs, and the tasks send rows
 * faster than in Spark's own write.
 *
 * <p>Output mode `update` appends each new row of a key, as in Spark's sink for Kafka. Spark's own write
 * refuses that mode only after the query has started.
 */
public final class SourceWriteBuilder extends PythonWriteBuilder implements SupportsStreamingUpdateAsAppend {
  private final PythonDataSourceV2 source;
  private final String name;
  private final LogicalWriteInfo info;
  private boolean truncates;

  public SourceWriteBuilder(PythonDataSourceV2 source, String name, LogicalWriteInfo info) {
    super(source, name, info);
    this.source = source;
    this.name = name;
    this.info = info;
  }

  @Override
  public WriteBuilder truncate() {
    truncates = true;
    return super.truncate();
  }

  @Override
  public Write build() {
    return new PythonWrite(source, name, info, truncates) {
      @Override
      public BatchWrite toBatch() {
        return new Rows(source, name, info, truncates);
      }

      @Override
      public StreamingWrite toStreaming() {
        return new Epochs(source, name, info, truncates);
      }
    };
  }

  private static final class Rows extends PythonBatchWrite {
    Rows(PythonDataSourceV2 source, String name, LogicalWriteInfo info, boolean truncates) {
      super(source, name, info, truncates);
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      DataWriterFactory origin = super.createBatchWriterFactory(info);
      return RowWrites.POSSIBLE ? new RowsWriterFactory((PythonBatchWriterFactory) origin) : origin;
    }
  }

  private static final class Epochs extends PythonStreamingWrite {
    private final PythonDataSourceV2 source;
    private final String name;
    private final LogicalWriteInfo info;
    private final boolean truncates;

    Epochs(PythonDataSourceV2 source, String name, LogicalWriteInfo info, boolean truncates) {
      super(source, name, info, truncates);
      this.source = source;
      this.name = name;
      this.info = info;
      this.truncates = truncates;
    }

    @Override
    public StreamingDataWriterFactory createStreamingWriterFactory(PhysicalWriteInfo info) {
      StreamingDataWriterFactory origin = super.createStreamingWriterFactory(info);
      return RowWrites.POSSIBLE ? new RowsWriterFactory((PythonBatchWriterFactory) origin) : origin;
    }

    @Override
    public void commit(long epoch, WriterCommitMessage[] messages) {
      if (DriverPrograms.POSSIBLE) {
        end(epoch, messages, false);
      } else {
        super.commit(epoch, messages);
      }
    }

    @Override
    public void abort(long epoch, WriterCommitMessage[] messages) {
      if (DriverPrograms.POSSIBLE) {
        end(epoch, messages, true);
      } else {
        super.abort(epoch, messages);
      }
    }

    private void end(long epoch, WriterCommitMessage[] messages, boolean aborts) {
      byte[] made =
          source.getOrCreateDataSourceInPython(name, info.options(), Option.apply(info.schema())).dataSource();
      var function = source.source().createPythonFunction(made);
      DriverProcess.of(function.pythonExec())
          .run(new PythonStreamingSinkCommitRunner(function, info.schema(), messages, epoch, truncates, aborts));
    }
  }
}

package org.pysparkpulsar.source;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Option;

/**
 * A factory of readers that return record batches. The readers use the same partitions and the same Python
 * function as the readers of Spark's own factory.
 */
final class ColumnarReaderFactory implements PartitionReaderFactory {
  private static final long serialVersionUID = 1;

  /** Spark's own factory. */
  private final PartitionReaderFactory rows;

  private final Origin origin;
  private final TaskCounts counts;

  /**
   * Creates a factory on the driver. `rows` is Spark's factory of a batch or of a stream. `counts` may be
   * null.
   */
  ColumnarReaderFactory(PartitionReaderFactory rows, TaskCounts counts) {
    this.rows = rows;
    this.counts = counts;
    this.origin = Origin.of(rows);
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    byte[] pickled =
        partition instanceof PythonStreamingInputPartition streamed
            ? streamed.pickedPartition()
            : ((PythonInputPartition) partition).pickedPartition();
    return new ColumnarReader(origin, pickled, counts);
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    return rows.createReader(partition);
  }

  /** The parts of Spark's factory. */
  record Origin(
      UserDefinedPythonDataSource source, byte[] function, StructType columns, Option<String> artifacts,
      Option<String> session)
      implements Serializable {
    private static final String[] FIELDS = {
      "source", "pickledReadFunc", "outputSchema", "jobArtifactUUID", "sessionUUID"
    };

    /** Checks that Spark's factory has the fields, and throws if one does not exist. */
    static void fields(Class<? extends PartitionReaderFactory> factory) throws NoSuchFieldException {
      for (String field : FIELDS) {
        ScalaField.of(factory, field);
      }
    }

    private static Origin of(PartitionReaderFactory factory) {
      try {
        return new Origin(
            part(factory, FIELDS[0]), part(factory, FIELDS[1]), part(factory, FIELDS[2]), part(factory, FIELDS[3]),
            part(factory, FIELDS[4]));
      } catch (ReflectiveOperationException fault) {
        throw new IllegalStateException(fault);
      }
    }

    private static <T> T part(PartitionReaderFactory factory, String field) throws ReflectiveOperationException {
      return ScalaField.get(factory, factory.getClass(), field);
    }
  }
}

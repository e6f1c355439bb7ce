package org.pysparkpulsar.source;

import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.network.util.JavaUtils;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection$;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.collection.AbstractIterator;

/**
 * The rows that a task writes, divided into record batches.
 *
 * <p>A batch ends at `spark.sql.execution.arrow.maxRecordsPerBatch` rows, or when its rows reach
 * `maxBytesPerBatch` bytes in Spark's format in memory. Spark itself computes the size of all Arrow vectors
 * of a batch after every row. This needs as much time as writing the rows to the vectors.
 *
 * <p>Each row is the only column of an outer row, because the Python worker's function accepts one struct. A
 * row is valid until the next call of `next`. Read a batch to its end before you request the next batch.
 */
final class RowBatches extends AbstractIterator<scala.collection.Iterator<InternalRow>> {
  private static final String BYTES = "spark.sql.execution.arrow.maxBytesPerBatch";
  private static final String DEFAULT_BYTES = "64m";

  private final Iterator<InternalRow> rows;
  private final StructType columns;
  private final int mostRows;
  private final long mostBytes;
  private UnsafeProjection projection;

  /** Creates batches in a task, with the limits of the task's settings. */
  RowBatches(Iterator<InternalRow> rows, StructType columns) {
    this.rows = rows;
    this.columns = columns;
    SQLConf settings = SQLConf.get();
    int most = settings.arrowMaxRecordsPerBatch();
    mostRows = most > 0 ? most : Integer.MAX_VALUE;
    mostBytes = JavaUtils.byteStringAsBytes(settings.getConfString(BYTES, DEFAULT_BYTES));
  }

  @Override
  public boolean hasNext() {
    return rows.hasNext();
  }

  @Override
  public scala.collection.Iterator<InternalRow> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return new Batch();
  }

  private UnsafeRow unsafe(InternalRow row) {
    if (row instanceof UnsafeRow unsafe) {
      return unsafe;
    }
    if (projection == null) {
      projection = UnsafeProjection$.MODULE$.create(columns);
    }
    return projection.apply(row);
  }

  private final class Batch extends AbstractIterator<InternalRow> {
    private final Object[] column = new Object[1];
    private final InternalRow outer = new GenericInternalRow(column);
    private int count;
    private long bytes;

    @Override
    public boolean hasNext() {
      return count < mostRows && bytes < mostBytes && rows.hasNext();
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      UnsafeRow row = unsafe(rows.next());
      count++;
      bytes += row.getSizeInBytes();
      column[0] = row;
      return outer;
    }
  }
}

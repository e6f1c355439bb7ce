package org.pysparkpulsar.source;

import org.apache.arrow.vector.ValueVector;
import org.apache.spark.sql.vectorized.ArrowColumnVector;

/** A column whose memory is its reader's: Spark closes the columns of a batch when it has read it, the reader goes on. */
final class BorrowedVector extends ArrowColumnVector {
  BorrowedVector(ValueVector vector) {
    super(vector);
  }

  @Override
  public void close() {
    // The reader closes all when the task ends.
  }

  @Override
  public void closeIfFreeable() {
    // As above.
  }
}

package org.pysparkpulsar.source;

/** Whether tasks of a write send their rows by {@link RowBatches}. Otherwise Spark sends them, the same way and slower. */
final class RowWrites {
  /** Found out once in a JVM, which says so where the answer is no. */
  static final boolean POSSIBLE = find();

  private RowWrites() {}

  private static boolean find() {
    return SparkParts.found(
        RowWrites.class,
        "Spark measures the record batches of a write to Pulsar after every row, as this version of Spark differs "
            + "inside from 4.3 ({}): writes are right, and slower",
        // No method reference: where its class cannot be linked, that would throw before the lookup.
        () -> BatchRunner.find());
  }
}

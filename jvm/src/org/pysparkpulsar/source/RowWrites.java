package org.pysparkpulsar.source;

/**
 * The check whether tasks of a write send their rows by {@link RowBatches}. Otherwise Spark sends them, which
 * is slower.
 */
final class RowWrites {
  /** The result of a check that runs once in a JVM, and logs a negative result. */
  static final boolean POSSIBLE = find();

  private RowWrites() {}

  private static boolean find() {
    return SparkParts.found(
        RowWrites.class,
        "Writes to Pulsar are correct but slower, because Spark measures a record batch after every row. The internals of "
            + "this version of Spark differ from 4.3: {}",
        // A method reference would throw before the lookup if its class cannot be linked.
        () -> BatchRunner.find());
  }
}

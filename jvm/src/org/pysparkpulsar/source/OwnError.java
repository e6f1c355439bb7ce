package org.pysparkpulsar.source;

/** An error of this package that a task's Python worker has written: it says all itself, and Spark logs it several times. */
final class OwnError {
  /** As Python writes such an error. */
  private static final String NAMED = "pyspark_pulsar.errors.";

  /** As in Python, `pyspark_pulsar.spark.tracebacks`. */
  private static final boolean KEEPS_FRAMES = !System.getenv().getOrDefault("PYSPARK_PULSAR_TRACEBACK", "").isEmpty();

  private OwnError() {}

  /** The same exception, without Spark's frames if it is an error of this package. */
  static <T extends RuntimeException> T withoutFrames(T fault) {
    if (!KEEPS_FRAMES && String.valueOf(fault.getMessage()).contains(NAMED)) {
      fault.setStackTrace(new StackTraceElement[0]);
    }
    return fault;
  }
}

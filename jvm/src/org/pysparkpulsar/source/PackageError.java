package org.pysparkpulsar.source;

/**
 * Recognition of this package's errors in a task's Python worker. Such an error needs no frames, and Spark
 * logs it often.
 */
final class PackageError {
  /** The text by which Python names such an error. */
  private static final String NAMED = "pyspark_pulsar.errors.";

  /** The setting that keeps frames, as in `pyspark_pulsar.spark.tracebacks`. */
  private static final boolean KEEPS_FRAMES = !System.getenv().getOrDefault("PYSPARK_PULSAR_TRACEBACK", "").isEmpty();

  private PackageError() {}

  /** Returns the same exception, without Spark's frames if it is an error of this package. */
  static <T extends RuntimeException> T withoutFrames(T fault) {
    if (!KEEPS_FRAMES && String.valueOf(fault.getMessage()).contains(NAMED)) {
      fault.setStackTrace(new StackTraceElement[0]);
    }
    return fault;
  }
}

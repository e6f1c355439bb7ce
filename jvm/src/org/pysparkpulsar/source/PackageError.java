package org.pysparkpulsar.source;

/**
 * Recognition of this package's errors in a task's Python worker. Such an error needs no stack frames,
 * because its text is sufficient and Spark logs the error often.
 */
final class PackageError {
  /** The beginning of the class name of such an error in Python's message. */
  private static final String NAMED = "pyspark_pulsar.errors.";

  /** The setting that keeps frames, as in `pyspark_pulsar.spark.tracebacks`. */
  private static final boolean KEEPS_FRAMES = !System.getenv().getOrDefault("PYSPARK_PULSAR_TRACEBACK", "").isEmpty();

  private PackageError() {}

  /** Returns the same exception. If the exception is an error of this package, its stack frames are removed. */
  static <T extends RuntimeException> T withoutFrames(T fault) {
    if (!KEEPS_FRAMES && String.valueOf(fault.getMessage()).contains(NAMED)) {
      fault.setStackTrace(new StackTraceElement[0]);
    }
    return fault;
  }
}

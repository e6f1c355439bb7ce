package org.pysparkpulsar.process;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The levels of this package's loggers in this JVM, which `SparkContext.setLogLevel` and the log4j
 * configuration set.
 *
 * <p>Each request to a Python process contains these levels, so that the process uses the log levels of the
 * session.
 */
public final class LogLevels {
  /** The names of the loggers in `pyspark_pulsar.spark.logging`. */
  private static final String PACKAGE = "pyspark_pulsar";

  private static final String PROGRESS = "pyspark_pulsar.progress";

  private LogLevels() {}

  /**
   * Returns the two current levels, such as `WARN,INFO`. The first level is the package's, and the second is
   * for the progress of streams.
   */
  public static String now() {
    return level(LoggerFactory.getLogger(PACKAGE)) + "," + level(LoggerFactory.getLogger(PROGRESS));
  }

  private static String level(Logger log) {
    if (log.isDebugEnabled()) {
      return "DEBUG";
    }
    if (log.isInfoEnabled()) {
      return "INFO";
    }
    if (log.isWarnEnabled()) {
      return "WARN";
    }
    return log.isErrorEnabled() ? "ERROR" : "OFF";
  }
}

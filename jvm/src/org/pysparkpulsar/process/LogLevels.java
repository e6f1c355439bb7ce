package org.pysparkpulsar.process;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The levels of this package's loggers in this JVM, which `SparkContext.setLogLevel` and the log4j
 * configuration set.
 *
 * <p>Each request to a Python process contains them, so that its log follows the session's.
 */
public final class LogLevels {
  /** The names of the loggers in `pyspark_pulsar.spark.logging`. */
  private static final String PACKAGE = "pyspark_pulsar";

  private static final String PROGRESS = "pyspark_pulsar.progress";

  private LogLevels() {}

  /** Returns the current levels as `WARN,INFO`: of the package, and of the progress of streams. */
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

package org.pysparkpulsar.source;

import java.util.HashMap;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Map;
import scala.jdk.javaapi.CollectionConverters;

/** Access to internals of Spark that both the readers and the writers of tasks use. */
final class SparkParts {
  private SparkParts() {}

  /** A lookup of Spark's internals. The lookup throws an exception if a part does not exist. */
  @FunctionalInterface
  interface Lookup {
    void run() throws ReflectiveOperationException;
  }

  /**
   * Returns whether `lookup` succeeds. If it fails, logs the text `otherwise` with the logger of `user`; the
   * exception replaces `{}` in the text.
   */
  static boolean found(Class<?> user, String otherwise, Lookup lookup) {
    try {
      lookup.run();
      return true;
    } catch (ReflectiveOperationException | LinkageError fault) {
      LoggerFactory.getLogger(user).warn(otherwise, fault.toString());
      return false;
    }
  }

  /** Returns the current counts of a task's Python worker. */
  static CustomTaskMetric[] values(UserDefinedPythonDataSource source, Map<String, SQLMetric> metrics) {
    java.util.Map<String, Object> values = new HashMap<>();
    CollectionConverters.asJava(metrics).forEach((name, metric) -> values.put(name, metric.value()));
    return source.createPythonTaskMetrics(
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(values)));
  }
}

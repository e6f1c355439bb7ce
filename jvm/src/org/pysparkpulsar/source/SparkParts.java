package org.pysparkpulsar.source;

import java.util.HashMap;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Map;
import scala.jdk.javaapi.CollectionConverters;

/** Spark's internals that readers and writers of tasks use in the same way. */
final class SparkParts {
  private SparkParts() {}

  /** A lookup of Spark's internals. It throws if one does not exist. */
  @FunctionalInterface
  interface Lookup {
    void run() throws ReflectiveOperationException;
  }

  /**
   * Returns whether `lookup` succeeds. Otherwise logs `otherwise` for `user`, with the fault at its `{}`.
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

  /** Returns the counts of a task's Python until now. */
  static CustomTaskMetric[] values(UserDefinedPythonDataSource source, Map<String, SQLMetric> metrics) {
    java.util.Map<String, Object> values = new HashMap<>();
    CollectionConverters.asJava(metrics).forEach((name, metric) -> values.put(name, metric.value()));
    return source.createPythonTaskMetrics(
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(values)));
  }
}

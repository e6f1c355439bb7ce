package org.pysparkpulsar.source;

import java.util.HashMap;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Map;
import scala.jdk.javaapi.CollectionConverters;

/** What readers and writers of tasks take of Spark's inside in the same way. */
final class SparkParts {
  private SparkParts() {}

  /** Throws where a part of Spark is not there. */
  @FunctionalInterface
  interface Lookup {
    void run() throws ReflectiveOperationException;
  }

  /** Whether all that `lookup` takes is there; else the log of `asker` says `otherwise`, with the fault at its `{}`. */
  static boolean found(Class<?> asker, String otherwise, Lookup lookup) {
    try {
      lookup.run();
      return true;
    } catch (ReflectiveOperationException | LinkageError fault) {
      LoggerFactory.getLogger(asker).warn(otherwise, fault.toString());
      return false;
    }
  }

  /** What a task's Python has counted until now. */
  static CustomTaskMetric[] values(UserDefinedPythonDataSource source, Map<String, SQLMetric> metrics) {
    java.util.Map<String, Object> values = new HashMap<>();
    CollectionConverters.asJava(metrics).forEach((name, metric) -> values.put(name, metric.value()));
    return source.createPythonTaskMetrics(
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(values)));
  }
}

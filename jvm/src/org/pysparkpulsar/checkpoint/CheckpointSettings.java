package org.pysparkpulsar.checkpoint;

import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.pysparkpulsar.process.Interpreter;
import scala.Tuple2;

/**
 * What a Hadoop configuration and Spark's own say of the cluster that holds checkpoints.
 *
 * <p>The settings are those of a Pulsar catalog, `spark.sql.catalog.NAME.*`; `fs.pulsar+checkpoint.catalog` is its name.
 * A session's reach every task in the Hadoop configuration that Spark makes of them; those that the application was
 * started with are known to every executor by Spark's own protocol. Neither is in arguments or the environment.
 */
final class CheckpointSettings {
  static final String SCHEME = "pulsar+checkpoint";
  private static final String CATALOG = "fs." + SCHEME + ".catalog";
  private static final String OWNER = "fs." + SCHEME + ".owner";
  private static final String PYTHON = "python";
  private static final String DRIVER = "driver";

  private CheckpointSettings() {}

  static CheckpointProcess process(Configuration conf) {
    String prefix = "spark.sql.catalog." + conf.get(CATALOG, "pulsar") + ".";
    Map<String, String> settings = new TreeMap<>();
    SparkConf spark = sparkConf();
    if (spark != null) {
      for (Tuple2<String, String> setting : spark.getAllWithPrefix(prefix)) {
        settings.put(setting._1(), setting._2());
      }
    }
    for (Iterator<Map.Entry<String, String>> all = conf.iterator(); all.hasNext(); ) {
      Map.Entry<String, String> entry = all.next();
      if (entry.getKey().startsWith(prefix)) {
        // Not by Configuration.get, which would put variables into what looks like one.
        settings.put(entry.getKey().substring(prefix.length()), entry.getValue());
      }
    }
    if (settings.keySet().stream().noneMatch(key -> key.equalsIgnoreCase("service.url") || key.equalsIgnoreCase("serviceUrl"))) {
      throw new IllegalArgumentException(
          "checkpoints in Pulsar: expected the setting " + prefix + "service.url, got none; start the session with "
              + "pyspark_pulsar.configure(builder, service_url), or set fs." + SCHEME + ".catalog to the catalog's name");
    }
    String python = settings.remove(PYTHON);
    return CheckpointProcess.of(interpreter(python, conf::get), settings);
  }

  /**
   * Who writes: the same on the driver and the executors of an application, and no other's. The id of an application is
   * not enough: in local mode it is a moment, and masters that begin anew repeat theirs. Null outside of Spark: what
   * does not belong to an application only reads.
   */
  static String owner(Configuration conf) {
    String given = conf.get(OWNER);
    SparkConf spark = sparkConf();
    if (given != null || spark == null || !spark.contains("spark.app.id")) {
      return given;
    }
    return spark.get("spark.app.id") + "@" + spark.get("spark.driver.host", "") + ":" + spark.get("spark.driver.port", "");
  }

  private static SparkConf sparkConf() {
    SparkEnv env = SparkEnv.get();
    return env == null ? null : env.conf();
  }

  /** On the driver as the catalog has it; on executors what runs their workers, as the driver's may not be there. */
  private static String interpreter(String ofCatalog, UnaryOperator<String> setting) {
    SparkEnv env = SparkEnv.get();
    boolean isExecutor = env != null && !DRIVER.equals(env.executorId());
    UnaryOperator<String> ofSpark = key -> env == null ? setting.apply(key) : env.conf().get(key, setting.apply(key));
    return isExecutor ? Interpreter.onExecutor(ofCatalog, ofSpark) : Interpreter.onDriver(ofCatalog, null, ofSpark);
  }
}

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
 * The settings of the Pulsar cluster that stores the checkpoints. They are read from the configurations of
 * Hadoop and Spark.
 *
 * <p>The settings are the settings of a Pulsar catalog, `spark.sql.catalog.NAME.*`. The setting
 * `fs.pulsar+checkpoint.catalog` contains the name of the catalog. Spark passes a session's settings to every
 * task in a Hadoop configuration. Spark's own protocol sends the settings with which the application was
 * started to the executors. No settings are in arguments or in the environment of a process.
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
        // `Configuration.get` would replace `${...}` in a value, but in these settings `${...}` is not a
        // variable.
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
   * Returns the writer's name, which is the same on the driver and the executors of an application. Other
   * applications have other names.
   *
   * <p>The id of an application is not unique. In local mode the id is a time, and a restarted master assigns
   * the same ids again. The result is null outside of Spark, where a process only reads.
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

  /**
   * Returns the path of the Python interpreter. The driver uses the interpreter of the catalog. An executor
   * uses the interpreter of its workers, because the driver's interpreter may not exist on the executor.
   */
  private static String interpreter(String ofCatalog, UnaryOperator<String> setting) {
    SparkEnv env = SparkEnv.get();
    boolean isExecutor = env != null && !DRIVER.equals(env.executorId());
    UnaryOperator<String> ofSpark = key -> env == null ? setting.apply(key) : env.conf().get(key, setting.apply(key));
    return isExecutor ? Interpreter.onExecutor(ofCatalog, ofSpark) : Interpreter.onDriver(ofCatalog, null, ofSpark);
  }
}

package org.pysparkpulsar.source;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;

/**
 * The file on the executor into which the Python worker of one task writes its counts
 * (`spark/task_context.py`). The file is created before the worker starts, and is read after the worker has
 * ended. If the file cannot be created or read, the counts are missing, but the task is not affected.
 */
record CountsFile(Path path) {
  /** The value for a task without a file, because its counts are not needed. */
  static final CountsFile NONE = new CountsFile(null);

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, Long>> COUNTS = new TypeReference<>() {};

  static CountsFile make() {
    try {
      Path folder = SparkEnv.get().blockManager().diskBlockManager().localDirs()[0].toPath();
      String name = "pyspark-pulsar-" + TaskContext.get().taskAttemptId() + ".counts";
      return new CountsFile(Files.createFile(folder.resolve(name)));
    } catch (IOException | RuntimeException | LinkageError fault) {
      // For example, a second source in the same task finds the file of the first source. The counts of both
      // sources are then in this file.
      return NONE;
    }
  }

  /** Returns the counts, and deletes the file. */
  List<Map<String, Long>> take() {
    List<Map<String, Long>> counts = new ArrayList<>();
    if (path == null) {
      return counts;
    }
    try {
      for (String line : Files.readAllLines(path)) {
        counts.add(JSON.readValue(line, COUNTS));
      }
      Files.delete(path);
    } catch (IOException fault) {
      // The task was ended while it wrote the file.
      path.toFile().delete();
    }
    return counts;
  }
}

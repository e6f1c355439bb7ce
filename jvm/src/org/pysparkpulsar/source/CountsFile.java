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
 * The file into which the Python of one task writes its counts (`spark/task_context.py`), on the executor. It
 * is created before Python starts, and read after Python has ended. If it cannot be created or read, the
 * counts are missing, and the task is not affected.
 */
record CountsFile(Path path) {
  /** No file, for a task whose counts are not needed. */
  static final CountsFile NONE = new CountsFile(null);

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, Long>> COUNTS = new TypeReference<>() {};

  static CountsFile make() {
    try {
      Path folder = SparkEnv.get().blockManager().diskBlockManager().localDirs()[0].toPath();
      String name = "pyspark-pulsar-" + TaskContext.get().taskAttemptId() + ".counts";
      return new CountsFile(Files.createFile(folder.resolve(name)));
    } catch (IOException | RuntimeException | LinkageError fault) {
      // For example, the file of a second source in the same task exists. Its counts go into the file of the
      // first.
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
      // The task was ended while it wrote.
      path.toFile().delete();
    }
    return counts;
  }
}

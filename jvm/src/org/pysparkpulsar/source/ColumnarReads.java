package org.pysparkpulsar.source;

import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingPartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Whether tasks of a query hand Spark their record batches as columns. Otherwise Spark makes a row of each message. */
final class ColumnarReads {
  /** On unless it is "false"; Python refuses what is no yes or no. */
  private static final String OPTION = "columnarReads";

  private ColumnarReads() {}

  static boolean chosen(CaseInsensitiveStringMap options) {
    return !"false".equalsIgnoreCase(options.get(OPTION)) && Possible.ANSWER;
  }

  /** Found out once in a JVM, which says so where the answer is no. */
  private static final class Possible {
    static final boolean ANSWER = find();

    private static boolean find() {
      return SparkParts.found(
          ColumnarReads.class,
          "Spark makes rows of Pulsar's record batches, as this version of Spark differs inside from 4.3 ({}): reads are "
              + "right, and slower",
          () -> {
            ColumnarReaderFactory.Origin.fields(PythonPartitionReaderFactory.class);
            ColumnarReaderFactory.Origin.fields(PythonStreamingPartitionReaderFactory.class);
            BatchRunner.find();
          });
    }
  }
}

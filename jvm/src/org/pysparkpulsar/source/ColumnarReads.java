package org.pysparkpulsar.source;

import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingPartitionReaderFactory;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The choice whether tasks of a query pass their record batches to Spark as columns. Otherwise Spark converts
 * the batches to rows.
 */
final class ColumnarReads {
  /** The option is on unless its value is "false". Python refuses values other than "true" and "false". */
  private static final String OPTION = "columnarReads";

  private ColumnarReads() {}

  static boolean chosen(CaseInsensitiveStringMap options) {
    return !"false".equalsIgnoreCase(options.get(OPTION)) && Possible.ANSWER;
  }

  /** The result of a check that runs once in a JVM, and logs a negative result. */
  private static final class Possible {
    static final boolean ANSWER = find();

    private static boolean find() {
      return SparkParts.found(
          ColumnarReads.class,
          "Reads from Pulsar are correct but slower, because Spark converts record batches to rows. The internals of this "
              + "version of Spark differ from 4.3: {}",
          () -> {
            ColumnarReaderFactory.Origin.fields(PythonPartitionReaderFactory.class);
            ColumnarReaderFactory.Origin.fields(PythonStreamingPartitionReaderFactory.class);
            BatchRunner.find();
          });
    }
  }
}

package org.pysparkpulsar.source;

import java.util.Map;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The table of `format("pulsar")`. Each query gets a new plan for its own columns and filters. */
public final class SourceTable extends PythonTable {
  private final PythonSource source;
  private final StructType columns;

  SourceTable(PythonSource source, StructType columns) {
    super(source, PythonSource.NAME, columns);
    this.source = source;
    this.columns = columns;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    PythonSource own = source.again(options, columns);
    return prunes(options)
        ? new PulsarScanBuilder(own, columns, new StructType(), options)
        : new SourceScanBuilder(own, PythonSource.NAME, columns, options);
  }

  /**
   * Returns the same table with some of the columns, for a stream; null if the options require all columns.
   */
  public SourceTable reading(StructType some, CaseInsensitiveStringMap options) {
    return prunes(options) ? new SourceTable(source, some) : null;
  }

  /**
   * Returns whether a scan may decode fewer columns than the table has. In modes other than FAILFAST, the
   * choice of columns must not change which rows are bad.
   */
  public static boolean prunes(Map<String, String> options) {
    return "FAILFAST".equalsIgnoreCase(options.getOrDefault("mode", "FAILFAST"));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new SourceWriteBuilder(source, PythonSource.NAME, info);
  }
}

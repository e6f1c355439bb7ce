package org.pysparkpulsar.source;

import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What `format("pulsar")` reads and writes. Each query is planned anew, for the columns and filters that it has. */
final class SourceTable extends PythonTable {
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

  /** What the other modes do with a message that does not decode shows in rows, whatever columns are asked for. */
  private static boolean prunes(CaseInsensitiveStringMap options) {
    return "FAILFAST".equalsIgnoreCase(options.getOrDefault("mode", "FAILFAST"));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new SourceWriteBuilder(source, PythonSource.NAME, info);
  }
}

package org.pysparkpulsar.source;

import java.util.Map;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What `format("pulsar")` reads and writes. Each query is planned anew, for the columns and filters that it has. */
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

  /** The same with some of the columns, for a stream; null where these options want all to be decoded. */
  public SourceTable reading(StructType some, CaseInsensitiveStringMap options) {
    return prunes(options) ? new SourceTable(source, some) : null;
  }

  /** What the other modes do with a message that does not decode shows in rows, whatever columns are asked for. */
  public static boolean prunes(Map<String, String> options) {
    return "FAILFAST".equalsIgnoreCase(options.getOrDefault("mode", "FAILFAST"));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new SourceWriteBuilder(source, PythonSource.NAME, info);
  }
}

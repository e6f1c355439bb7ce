package org.pysparkpulsar.source;

import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What `format("pulsar")` reads and writes. */
public final class SourceTable extends PythonTable {
  private final PythonDataSourceV2 source;
  private final StructType columns;

  public SourceTable(PythonDataSourceV2 source, StructType columns) {
    super(source, PythonSource.NAME, columns);
    this.source = source;
    this.columns = columns;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new SourceScanBuilder(source, PythonSource.NAME, columns, options);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new SourceWriteBuilder(source, PythonSource.NAME, info);
  }
}

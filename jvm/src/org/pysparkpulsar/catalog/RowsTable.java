package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A system table. When a query of the table is planned, the rows are requested from the Python process. The
 * rows stay on the driver.
 */
final class RowsTable implements SupportsRead {
  private final String name;
  private final StructType columns;
  private final Supplier<JsonNode> request;

  RowsTable(String name, StructType columns, Supplier<JsonNode> request) {
    this.name = name;
    this.columns = columns;
    this.request = request;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return columns;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(TableCapability.BATCH_READ);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return () -> scan(columns, request.get());
  }

  /** Returns a scan of the rows in the process's answer. */
  static Scan scan(StructType columns, JsonNode answer) {
    return new Rows(columns, rows(columns, answer));
  }

  private static InternalRow[] rows(StructType columns, JsonNode answer) {
    InternalRow[] rows = new InternalRow[answer.size()];
    StructField[] fields = columns.fields();
    for (int i = 0; i < rows.length; i++) {
      Object[] values = new Object[fields.length];
      for (int column = 0; column < fields.length; column++) {
        values[column] = value(answer.get(i).get(column), fields[column].dataType());
      }
      rows[i] = new GenericInternalRow(values);
    }
    return rows;
  }

  /** Converts a value to one of the types of system tables. Timestamps are ISO 8601 texts in UTC. */
  private static Object value(JsonNode json, DataType type) {
    if (json == null || json.isNull()) {
      return null;
    }
    if (type instanceof LongType) {
      return json.asLong();
    }
    if (type instanceof IntegerType) {
      return json.asInt();
    }
    if (type instanceof DoubleType) {
      return json.asDouble();
    }
    if (type instanceof BooleanType) {
      return json.asBoolean();
    }
    if (type instanceof TimestampType) {
      return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse(json.asText()));
    }
    if (type instanceof ArrayType array) {
      Object[] elements = new Object[json.size()];
      for (int i = 0; i < elements.length; i++) {
        elements[i] = value(json.get(i), array.elementType());
      }
      return new GenericArrayData(elements);
    }
    return UTF8String.fromString(json.asText());
  }

  private record Rows(StructType readSchema, InternalRow[] rows) implements LocalScan {
    @Override
    public String description() {
      return "Pulsar system table";
    }
  }
}

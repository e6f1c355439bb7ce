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

/** A system table: its rows are asked for when a query of it is planned, and live on the driver. */
final class RowsTable implements SupportsRead {
  private final String name;
  private final StructType columns;
  private final Supplier<JsonNode> ask;

  RowsTable(String name, StructType columns, Supplier<JsonNode> ask) {
    this.name = name;
    this.columns = columns;
    this.ask = ask;
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
    return () -> scan(columns, ask.get());
  }

  /** A scan of the rows that the process gave. */
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

  /** Of the types that system tables have; timestamps come as ISO 8601 in UTC. */
  private static Object value(JsonNode told, DataType type) {
    if (told == null || told.isNull()) {
      return null;
    }
    if (type instanceof LongType) {
      return told.asLong();
    }
    if (type instanceof IntegerType) {
      return told.asInt();
    }
    if (type instanceof DoubleType) {
      return told.asDouble();
    }
    if (type instanceof BooleanType) {
      return told.asBoolean();
    }
    if (type instanceof TimestampType) {
      return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse(told.asText()));
    }
    if (type instanceof ArrayType array) {
      Object[] elements = new Object[told.size()];
      for (int i = 0; i < elements.length; i++) {
        elements[i] = value(told.get(i), array.elementType());
      }
      return new GenericArrayData(elements);
    }
    return UTF8String.fromString(told.asText());
  }

  private record Rows(StructType readSchema, InternalRow[] rows) implements LocalScan {
    @Override
    public String description() {
      return "Pulsar system table";
    }
  }
}

package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A topic. Reading and writing are the data source's, with the catalog's options under those of the query. */
final class PulsarTable implements SupportsRead, SupportsWrite, SupportsMetadataColumns {
  private static final Set<String> FIXED = Set.of("topic", "topics", "topicspattern", "subscribepattern", "columns");

  private static final String END = "endingtimestamp";

  private final String name;
  private final StructType values;
  private final StructType metadata;
  private final StructType writable;
  private final Map<String, String> readOptions;
  private final Map<String, String> writeOptions;
  private final Supplier<Map<String, String>> askProperties;
  private final StructType read;
  /** Of TIMESTAMP AS OF, in Unix milliseconds, exclusive; null without it. */
  private final Long end;
  private Map<String, String> properties;

  /** `described`: the answer to `load_table`. */
  PulsarTable(String name, JsonNode described, Supplier<Map<String, String>> askProperties) {
    this(
        name,
        columns(described.get("schema")),
        columns(described.get("metadata")),
        columns(described.get("writable")),
        texts(described.get("read_options")),
        texts(described.get("write_options")),
        askProperties,
        columns(described.get("schema")),
        null);
  }

  private PulsarTable(
      String name,
      StructType values,
      StructType metadata,
      StructType writable,
      Map<String, String> readOptions,
      Map<String, String> writeOptions,
      Supplier<Map<String, String>> askProperties,
      StructType read,
      Long end) {
    this.name = name;
    this.values = values;
    this.metadata = metadata;
    this.writable = writable;
    this.readOptions = readOptions;
    this.writeOptions = writeOptions;
    this.askProperties = askProperties;
    this.read = read;
    this.end = end;
  }

  static StructType columns(JsonNode schema) {
    return (StructType) DataType.fromJson(schema.toString());
  }

  static Map<String, String> texts(JsonNode object) {
    Map<String, String> texts = new HashMap<>();
    for (Iterator<Map.Entry<String, JsonNode>> each = object.fields(); each.hasNext(); ) {
      Map.Entry<String, JsonNode> entry = each.next();
      texts.put(entry.getKey(), entry.getValue().asText());
    }
    return texts;
  }

  /** The same table as it was: what was published up to then, that millisecond included. */
  PulsarTable upTo(long milliseconds) {
    return new PulsarTable(
        name, values, metadata, writable, readOptions, writeOptions, askProperties, read, milliseconds + 1);
  }

  /** The same table, of which a stream reads these columns; Spark does not tell a stream's scan which. */
  PulsarTable reading(StructType columns) {
    return new PulsarTable(
        name, values, metadata, writable, readOptions, writeOptions, askProperties, columns, end);
  }

  /** What a stream reads. */
  StructType read() {
    return read;
  }

  /** The metadata columns that an INSERT may name. */
  StructType writable() {
    return writable;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return values;
  }

  @Override
  public synchronized Map<String, String> properties() {
    if (properties == null) {
      properties = askProperties.get();
    }
    return properties;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return Set.of(
        TableCapability.BATCH_READ,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.STREAMING_WRITE,
        // A stream in complete mode asks for it, and appends; the data source refuses INSERT OVERWRITE in its own words.
        TableCapability.TRUNCATE);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    StructField[] fields = metadata.fields();
    MetadataColumn[] columns = new MetadataColumn[fields.length];
    for (int i = 0; i < fields.length; i++) {
      columns[i] = new MessageColumn(fields[i].name(), fields[i].dataType());
    }
    return columns;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    Map<String, String> options = merged(readOptions, given);
    options.putIfAbsent("pushfilters", "true");
    // Spark leaves an option that it has understood among those of the query.
    options.remove(SQLConf.get().getConf(SQLConf.TIME_TRAVEL_TIMESTAMP_KEY()).toLowerCase(Locale.ROOT));
    if (end != null && options.put(END, end.toString()) != null) {
      throw CatalogException.raised(
          "table " + name + ": expected TIMESTAMP AS OF or the option 'endingTimestamp', got both; leave one out");
    }
    return new PulsarScanBuilder(read, metadata, new CaseInsensitiveStringMap(options));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(merged(writeOptions, info.options()));
    PythonTable table = new PythonTable(PythonSource.make(), PythonSource.NAME, info.schema());
    return table.newWriteBuilder(new WriteInfo(info, options));
  }

  /** The options of the query over those of the table, by keys in lower case. */
  private Map<String, String> merged(Map<String, String> own, CaseInsensitiveStringMap given) {
    Map<String, String> merged = new HashMap<>();
    own.forEach((key, value) -> merged.put(key.toLowerCase(Locale.ROOT), value));
    given.forEach((key, value) -> {
      if (FIXED.contains(key)) {
        throw CatalogException.raised(
            "table " + name + ": expected no option '" + key + "', which the table decides; name another table, or "
                + "select the columns");
      }
      merged.put(key, value);
    });
    return merged;
  }

  private record MessageColumn(String name, DataType dataType) implements MetadataColumn {}

  /** What Spark says of a write, with the table's options under those of the query. */
  private record WriteInfo(LogicalWriteInfo info, CaseInsensitiveStringMap options) implements LogicalWriteInfo {
    @Override
    public String queryId() {
      return info.queryId();
    }

    @Override
    public StructType schema() {
      return info.schema();
    }

    @Override
    public Optional<StructType> rowIdSchema() {
      return info.rowIdSchema();
    }

    @Override
    public Optional<StructType> metadataSchema() {
      return info.metadataSchema();
    }
  }
}

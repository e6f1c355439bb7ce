package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.pysparkpulsar.source.PulsarException;
import org.pysparkpulsar.source.PulsarScanBuilder;
import org.pysparkpulsar.source.PythonSource;
import org.pysparkpulsar.source.SourceWriteBuilder;

/**
 * A topic as a table. The data source reads and writes the topic. The catalog's options are defaults for the
 * query's options.
 */
final class PulsarTable
    implements SupportsRead, SupportsWrite, SupportsMetadataColumns, TopicPartitions {
  private static final Set<String> FIXED = Set.of("topic", "topics", "topicspattern", "subscribepattern", "columns");

  private static final String END = "endingtimestamp";

  private static final String TABLES = "tiercatalog";

  private final Topic topic;
  private final StructType read;
  /** The end of TIMESTAMP AS OF, in Unix milliseconds, exclusive; null without TIMESTAMP AS OF. */
  private final Long end;
  /** The final options of a scan, which replace the options of the query; null if the options are not final. */
  private final Map<String, String> settled;
  private Map<String, String> properties;

  /** The calls to the Python process about a topic. A call is sent when a query needs the answer. */
  interface TopicCalls {
    Map<String, String> properties();

    /** Returns the partitions, as {@link TopicPartitions} does. */
    JsonNode partitions();

    Map<String, String> partition(int number);

    /** Returns the plan of Spark's own scan of the topic's table (`catalog/scan/tier_scan.py`). */
    JsonNode tierScan(ObjectNode arguments);
  }

  /** The catalog's description of a topic. `fixed` are options that no query may set. */
  private record Topic(
      String name, StructType values, StructType metadata, StructType writable, Map<String, String> readOptions,
      Map<String, String> writeOptions, Set<String> fixed, boolean readOnly, TopicCalls calls) {}

  /** Creates a table from the answer to `load_table`. */
  PulsarTable(String name, JsonNode described, TopicCalls calls) {
    this(
        new Topic(
            name, columns(described.get("schema")), columns(described.get("metadata")),
            columns(described.get("writable")), texts(described.get("read_options")),
            texts(described.get("write_options")), fixed(described.path("fixed")),
            described.path("read_only").asBoolean(), calls),
        columns(described.get("schema")), null, null);
  }

  private PulsarTable(Topic topic, StructType read, Long end, Map<String, String> settled) {
    this.topic = topic;
    this.read = read;
    this.end = end;
    this.settled = settled;
  }

  private static Set<String> fixed(JsonNode further) {
    Set<String> fixed = new HashSet<>(FIXED);
    further.forEach(key -> fixed.add(key.asText().toLowerCase(Locale.ROOT)));
    return fixed;
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

  /**
   * Returns the same table at an earlier time. The result has the messages that were published until the end
   * of this millisecond.
   */
  PulsarTable upTo(long milliseconds) {
    return new PulsarTable(topic, read, milliseconds + 1, settled);
  }

  /**
   * Returns the same table for a stream that reads these columns. Spark does not pass the columns to a stream's scan.
   */
  PulsarTable reading(StructType columns) {
    return new PulsarTable(topic, columns, end, settled);
  }

  /**
   * Returns the same table with final options. Scans use these options and ignore the options of the query.
   */
  PulsarTable settled(Map<String, String> options) {
    return new PulsarTable(topic, read, end, options);
  }

  boolean isSettled() {
    return settled != null;
  }

  /** Returns whether a scan with these options may read a table of the topic. */
  static boolean mayHaveColumns(Map<String, String> options) {
    return options.containsKey(TABLES);
  }

  /** Returns the plan of Spark's own scan of the topic's table. */
  JsonNode tierScan(Map<String, String> options, StructType columns) {
    ObjectNode arguments = CatalogProcess.arguments();
    arguments.set("options", CatalogProcess.tree(options));
    arguments.set("columns", CatalogProcess.parse(columns.json()));
    return topic.calls.tierScan(arguments);
  }

  /** Returns the columns that a stream reads. */
  StructType read() {
    return read;
  }

  /** Returns the metadata columns that an INSERT may name. */
  StructType writable() {
    return topic.writable;
  }

  @Override
  public String name() {
    return topic.name;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return topic.values;
  }

  @Override
  public synchronized Map<String, String> properties() {
    if (properties == null) {
      properties = topic.calls.properties();
    }
    return properties;
  }

  @Override
  public JsonNode partitions() {
    return topic.calls.partitions();
  }

  @Override
  public Map<String, String> partition(int number) {
    return topic.calls.partition(number);
  }

  @Override
  public Set<TableCapability> capabilities() {
    if (topic.readOnly) {
      return Set.of(TableCapability.BATCH_READ);
    }
    return Set.of(
        TableCapability.BATCH_READ,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.STREAMING_WRITE,
        // A stream in complete mode requires this capability, although the data source then appends the rows.
        // The data source itself refuses INSERT OVERWRITE.
        TableCapability.TRUNCATE);
  }

  @Override
  public MetadataColumn[] metadataColumns() {
    StructField[] fields = topic.metadata.fields();
    MetadataColumn[] columns = new MetadataColumn[fields.length];
    for (int i = 0; i < fields.length; i++) {
      columns[i] = new MessageColumn(fields[i].name(), fields[i].dataType());
    }
    return columns;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(scanOptions(given));
    return new PulsarScanBuilder(PythonSource.make(), read, topic.metadata, options);
  }

  /** Returns all options of a scan. The keys are in lower case. `given` are the options of the query. */
  Map<String, String> scanOptions(CaseInsensitiveStringMap given) {
    if (settled != null) {
      return settled;
    }
    Map<String, String> options = merged(topic.readOptions, given);
    options.putIfAbsent("pushfilters", "true");
    // Spark does not remove this option from the options of the query after it has interpreted the option.
    options.remove(SQLConf.get().getConf(SQLConf.TIME_TRAVEL_TIMESTAMP_KEY()).toLowerCase(Locale.ROOT));
    if (end != null && options.put(END, end.toString()) != null) {
      throw PulsarException.raised(
          "table " + topic.name + ": expected TIMESTAMP AS OF or the option 'endingTimestamp', got both; leave one out");
    }
    return options;
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(merged(topic.writeOptions, info.options()));
    return new SourceWriteBuilder(PythonSource.make(), PythonSource.NAME, new WriteInfo(info, options));
  }

  /**
   * Returns the options of the table, replaced or extended by the options of the query. The keys are in lower
   * case.
   */
  private Map<String, String> merged(Map<String, String> own, CaseInsensitiveStringMap given) {
    Map<String, String> merged = new HashMap<>();
    own.forEach((key, value) -> merged.put(key.toLowerCase(Locale.ROOT), value));
    given.forEach((key, value) -> {
      if (topic.fixed.contains(key)) {
        throw PulsarException.raised(
            "table " + topic.name + ": expected no option '" + key + "', because the table sets this option; name "
                + "another table, or select the columns");
      }
      merged.put(key, value);
    });
    return merged;
  }

  /** Returns whether both tables read the same messages and columns. Spark uses this to find cached queries. */
  @Override
  public boolean equals(Object other) {
    return other instanceof PulsarTable table
        && topic.name.equals(table.topic.name)
        && topic.values.equals(table.topic.values)
        && topic.readOptions.equals(table.topic.readOptions)
        && read.equals(table.read)
        && Objects.equals(end, table.end)
        && Objects.equals(settled, table.settled);
  }

  @Override
  public int hashCode() {
    return Objects.hash(topic.name, end);
  }

  private record MessageColumn(String name, DataType dataType) implements MetadataColumn {}

  /** Spark's description of a write, with the table's options as defaults of the query's options. */
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

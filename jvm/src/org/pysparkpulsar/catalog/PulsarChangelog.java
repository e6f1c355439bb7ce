package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.ChangelogRange;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.pysparkpulsar.source.PulsarScanBuilder;

/**
 * The result of `CHANGES` for a table. Each message is one change. The Python process and the tasks determine
 * the kind of each change.
 */
final class PulsarChangelog implements Changelog {
  /** Options that Spark has already converted to a {@link ChangelogContext}. */
  private static final Set<String> UNDERSTOOD =
      Set.of(
          "startingversion", "endingversion", "startingtimestamp", "endingtimestamp", "startingboundinclusive",
          "endingboundinclusive", "deduplicationmode", "computeupdates");

  private final String name;
  private final JsonNode described;

  private PulsarChangelog(String name, JsonNode described) {
    this.name = name;
    this.described = described;
  }

  /**
   * Creates a changelog from the answer to `load_changelog`.
   *
   * <p>The result has Spark's type, so that a JVM without that type can still load the calling class.
   */
  static Changelog of(String name, JsonNode described) {
    return new PulsarChangelog(name, described);
  }

  static ObjectNode arguments(ObjectNode table, ChangelogContext context) {
    ChangelogRange range = context.range();
    ObjectNode bounds = table.putObject("bounds");
    bounds.put("start_inclusive", range.startingBoundInclusive()).put("end_inclusive", range.endingBoundInclusive());
    if (range instanceof ChangelogRange.VersionRange versions) {
      bounds.put("kind", "version").put("start", versions.startingVersion());
      versions.endingVersion().ifPresent(end -> bounds.put("end", end));
    } else if (range instanceof ChangelogRange.TimestampRange times) {
      bounds.put("kind", "timestamp").put("start", times.startingTimestamp());
      times.endingTimestamp().ifPresent(end -> bounds.put("end", end));
    } else {
      bounds.put("kind", "none");
    }
    return table.put("deduplication", context.deduplicationMode().value()).put("updates", context.computeUpdates());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Column[] columns() {
    return Arrays.stream(schema().fields())
        .map(field -> Column.create(field.name(), field.dataType(), field.nullable()))
        .toArray(Column[]::new);
  }

  @Override
  public boolean containsCarryoverRows() {
    return false;
  }

  /** Returns false, because each message is a separate version. */
  @Override
  public boolean containsIntermediateChanges() {
    return false;
  }

  @Override
  public boolean representsUpdateAsDeleteAndInsert() {
    return false;
  }

  @Override
  public NamedReference[] rowId() {
    JsonNode key = described.get("key");
    return key.isNull() ? new NamedReference[0] : new NamedReference[] {Expressions.column(key.asText())};
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap given) {
    Map<String, String> options = new HashMap<>();
    given.forEach((key, value) -> options.put(key, value));
    options.keySet().removeAll(UNDERSTOOD);
    PulsarTable.texts(described.get("read_options"))
        .forEach((key, value) -> options.putIfAbsent(key.toLowerCase(Locale.ROOT), value));
    return PulsarScanBuilder.ofAll(schema(), new CaseInsensitiveStringMap(options));
  }

  private StructType schema() {
    return PulsarTable.columns(described.get("schema"));
  }
}

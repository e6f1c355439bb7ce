package org.pysparkpulsar.source;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A scan builder that passes a query's columns, filters and limit to the data source. */
public final class PulsarScanBuilder
    implements SupportsPushDownFilters, SupportsPushDownLimit, SupportsPushDownRequiredColumns {
  private final PythonDataSourceV2 source;
  private final StructType metadata;
  private final CaseInsensitiveStringMap options;
  private StructType columns;
  private Filter[] filters = {};
  private int limit = -1;

  /**
   * Creates a builder.
   *
   * @param source the data source, which no other scan may use
   * @param metadata additional columns that a query may name
   */
  public PulsarScanBuilder(
      PythonDataSourceV2 source, StructType columns, StructType metadata, CaseInsensitiveStringMap options) {
    this.source = source;
    this.columns = columns;
    this.metadata = metadata;
    this.options = options;
  }

  /** Returns a builder of a scan that decodes all of `columns`, even if the query does not need them. */
  public static ScanBuilder ofAll(StructType columns, CaseInsensitiveStringMap options) {
    return new SourceScanBuilder(PythonSource.make(), PythonSource.NAME, columns, options);
  }

  /**
   * Stores the filters until `build` is called, because only then the columns are known too. Spark evaluates
   * all filters again.
   */
  @Override
  public Filter[] pushFilters(Filter[] given) {
    filters = given;
    return given;
  }

  @Override
  public Filter[] pushedFilters() {
    return filters;
  }

  /**
   * Accepts a limit. Spark passes a limit only if the query has no remaining filters. Each task stops at the
   * limit, and Spark limits the rows of all tasks together.
   */
  @Override
  public boolean pushLimit(int rows) {
    if (options.containsKey(SourceScanBuilder.LIMIT)) {
      return false;
    }
    limit = rows;
    return true;
  }

  @Override
  public boolean isPartiallyPushed() {
    return true;
  }

  /**
   * Selects complete columns, although Spark may need only some of their fields. For `count(*)`, at least one
   * column remains.
   */
  @Override
  public void pruneColumns(StructType required) {
    List<StructField> wanted = new ArrayList<>();
    for (StructField each : required.fields()) {
      wanted.add(whole(each.name()));
    }
    if (wanted.isEmpty()) {
      wanted.add(cheapest());
    }
    columns = new StructType(wanted.toArray(new StructField[0]));
  }

  @Override
  public Scan build() {
    SourceScanBuilder builder =
        limit < 0
            ? new SourceScanBuilder(source, PythonSource.NAME, columns, options)
            : new SourceScanBuilder(PythonSource.make(), PythonSource.NAME, columns, limited());
    builder.pushFilters(filters);
    return builder.build();
  }

  private CaseInsensitiveStringMap limited() {
    Map<String, String> limited = new HashMap<>(options.asCaseSensitiveMap());
    limited.put(SourceScanBuilder.LIMIT, Integer.toString(limit));
    return new CaseInsensitiveStringMap(limited);
  }

  private StructField whole(String name) {
    return Arrays.stream(columns.fields())
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseGet(() -> metadata.apply(name));
  }

  private StructField cheapest() {
    return Arrays.stream(columns.fields())
        .min((left, right) -> Integer.compare(left.dataType().defaultSize(), right.dataType().defaultSize()))
        .orElseThrow();
  }
}

package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation$;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The scan of a topic's table, which the catalog's process has planned (`catalog/scan/tier_scan.py` describes
 * the plan).
 */
final class TierScan {
  /**
   * Options with which the scan returns exactly the rows of the data source. The settings of a session may
   * differ from these options.
   */
  private static final Map<String, String> EXACT =
      Map.of(
          "datetimeRebaseMode", "CORRECTED",
          "int96RebaseMode", "CORRECTED",
          "ignoreCorruptFiles", "false",
          "ignoreMissingFiles", "false");
  private static final String LOSES_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing";

  private final JsonNode answer;
  private final SparkSession session;
  private final Map<String, JsonNode> columns = new HashMap<>();

  TierScan(JsonNode answer, SparkSession session) {
    this.answer = answer;
    this.session = session;
    answer.get("columns").forEach(column -> columns.put(column.get("name").asText(), column));
  }

  /** Returns the reason why this version of Spark cannot read the files; null if it can read them. */
  static String refusal(JsonNode answer, SparkSession session) {
    if (Boolean.parseBoolean(SQLConf.get().getConfString(LOSES_STRUCTS, "false"))) {
      return LOSES_STRUCTS + " is on, which can turn structs of older files into null";
    }
    boolean defaults = false;
    for (JsonNode column : answer.get("columns")) {
      defaults |= column.get("scanned").asBoolean() && !column.get("default").isNull();
    }
    if (defaults && !TierParquet.givesDefaults(PulsarTable.columns(answer.get("schema")))) {
      return "a column has a default, which needs vectorized reads, and vectorized reads are off";
    }
    String scheme = new Path(answer.get("urls").get(0).asText()).toUri().getScheme();
    try {
      FileSystem.getFileSystemClass(scheme, session.sessionState().newHadoopConf());
      return null;
    } catch (IOException | RuntimeException fault) {
      return "this Spark has no file system for " + scheme + ":// (" + fault.getMessage() + ")";
    }
  }

  /**
   * Returns the options of the data source for the messages after the table's end; null if no such messages
   * must be read.
   */
  Map<String, String> rest() {
    return answer.get("rest").isNull() ? null : PulsarTable.texts(answer.get("rest"));
  }

  /** Returns a plan that reads these columns. Each column of the plan has the same id as in the query. */
  LogicalPlan plan(List<AttributeReference> query) {
    StructType schema = schema(query);
    LogicalRelation files = LogicalRelation$.MODULE$.apply(relation(schema), false);
    Map<String, AttributeReference> byName = new HashMap<>();
    PlanRule.list(files.output()).forEach(column -> byName.put(column.name(), column));
    List<NamedExpression> given = new ArrayList<>();
    for (AttributeReference column : query) {
      given.add(
          new Alias(
              value(column, byName), column.name(), column.exprId(), column.qualifier(),
              Option.apply(column.metadata()), PlanRule.seq(List.<String>of())));
    }
    Expression times = times(byName);
    return new Project(PlanRule.seq(given), times == null ? files : new Filter(times, files));
  }

  private HadoopFsRelation relation(StructType schema) {
    Map<String, String> options = new HashMap<>(PulsarTable.texts(answer.get("settings")));
    options.putAll(EXACT);
    return new HadoopFsRelation(
        new TierFiles(answer), new StructType(), schema, Option.empty(), new TierParquet(),
        scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(options)), session);
  }

  /**
   * Returns the columns to read from the files. A column has the query's type, including the comments of
   * fields, if this type equals the type in the files.
   */
  private StructType schema(List<AttributeReference> query) {
    Map<String, DataType> own = new HashMap<>();
    query.forEach(column -> own.put(column.name(), column.dataType()));
    List<StructField> fields = new ArrayList<>();
    for (StructField field : PulsarTable.columns(answer.get("schema")).fields()) {
      DataType type = own.getOrDefault(field.name(), field.dataType());
      type = DataTypeUtils.equalsIgnoreNullability(type, field.dataType()) ? type : field.dataType();
      fields.add(new StructField(field.name(), type, true, metadata(field.name(), type)));
    }
    return new StructType(fields.toArray(new StructField[0]));
  }

  private Metadata metadata(String name, DataType type) {
    JsonNode text = columns.containsKey(name) ? columns.get(name).get("default") : null;
    if (text == null || text.isNull()) {
      return Metadata.empty();
    }
    return new MetadataBuilder().putString(TierParquet.DEFAULT, literal(text.asText(), type).sql()).build();
  }

  private Expression value(AttributeReference own, Map<String, AttributeReference> files) {
    JsonNode column = columns.get(own.name());
    if (!column.get("scanned").asBoolean()) {
      JsonNode text = column.get("default");
      return text.isNull()
          ? new Literal(null, own.dataType())
          : literal(text.asText(), own.dataType());
    }
    AttributeReference file = files.get(own.name());
    return DataTypeUtils.equalsIgnoreNullability(file.dataType(), own.dataType())
        ? file
        : cast(file, own.dataType());
  }

  private static Literal literal(String text, DataType type) {
    Literal given = new Literal(UTF8String.fromString(text), DataTypes.StringType);
    return type instanceof StringType ? given : new Literal(cast(given, type).eval(null), type);
  }

  private static Expression cast(Expression value, DataType type) {
    return new Cast(value, type, Option.apply(SQLConf.get().sessionLocalTimeZone()));
  }

  /** Returns the filter for the time ranges in the options; null if the options contain no time range. */
  private Expression times(Map<String, AttributeReference> files) {
    Expression any = null;
    for (JsonNode window : answer.get("windows")) {
      Expression condition = window(window, files);
      any = any == null ? condition : new Or(any, condition);
    }
    return any;
  }

  /** Returns the filter for one time range. A row without an event time is treated as earlier than any time. */
  private static Expression window(JsonNode window, Map<String, AttributeReference> files) {
    AttributeReference published = files.get("__publishTime");
    AttributeReference happened = files.get("__eventTime");
    Expression all = Literal.TrueLiteral();
    if (!window.get("partitions").isNull()) {
      List<Expression> indexes = new ArrayList<>();
      window.get("partitions").forEach(index -> indexes.add(new Literal(index.asInt(), DataTypes.IntegerType)));
      all = new In(files.get("__partition"), PlanRule.seq(indexes));
    }
    if (!window.get("published_from").isNull()) {
      all = new And(all, new GreaterThanOrEqual(published, instant(window.get("published_from"), published)));
    }
    if (!window.get("published_before").isNull()) {
      all = new And(all, new LessThan(published, instant(window.get("published_before"), published)));
    }
    if (!window.get("event_before").isNull()) {
      Expression before = new LessThan(happened, instant(window.get("event_before"), happened));
      all = new And(all, new Or(new IsNull(happened), before));
    }
    return all;
  }

  private static Literal instant(JsonNode microseconds, AttributeReference column) {
    return new Literal(microseconds.asLong(), column.dataType());
  }
}

package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BinaryComparison;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The statistics of files: bounds and null counts of their columns. The statistics determine which files can
 * have rows that pass the filters of a query. Every file is selected if a filter is unknown, or if statistics
 * are missing.
 *
 * <p>Bounds are Long, Double or UTF8String, in Spark's order. NaN is missing in bounds, but Spark orders NaN
 * above all numbers. So floating-point columns have no upper bounds here.
 */
final class FileStatistics {
  private final long[] rows;
  private final Map<String, Bounds> columns = new HashMap<>();

  /** The bounds and null counts of a column, by file. A value is null if it is unknown. */
  private record Bounds(Object[] lower, Object[] upper, Long[] nulls) {}

  FileStatistics(JsonNode answer) {
    rows = new long[answer.get("rows").size()];
    for (int file = 0; file < rows.length; file++) {
      rows[file] = answer.get("rows").get(file).asLong();
    }
    for (Iterator<Map.Entry<String, JsonNode>> all = answer.get("statistics").fields(); all.hasNext(); ) {
      Map.Entry<String, JsonNode> column = all.next();
      columns.put(column.getKey(), bounds(column.getValue()));
    }
  }

  private Bounds bounds(JsonNode json) {
    Long[] nulls = new Long[rows.length];
    for (int file = 0; file < rows.length; file++) {
      JsonNode count = json.get("nulls").get(file);
      nulls[file] = count.isNull() ? null : count.asLong();
    }
    return new Bounds(values(json.get("lower")), values(json.get("upper")), nulls);
  }

  private Object[] values(JsonNode json) {
    Object[] values = new Object[rows.length];
    for (int file = 0; file < values.length && !json.isNull(); file++) {
      JsonNode value = json.get(file);
      if (value.isTextual()) {
        values[file] = UTF8String.fromString(value.asText());
      } else if (value.isFloatingPointNumber()) {
        values[file] = value.asDouble();
      } else if (!value.isNull()) {
        values[file] = value.asLong();
      }
    }
    return values;
  }

  boolean mayHaveRows(int file, List<Expression> filters) {
    return filters.stream().allMatch(filter -> may(file, filter));
  }

  private boolean may(int file, Expression filter) {
    if (filter instanceof And and) {
      return may(file, and.left()) && may(file, and.right());
    }
    if (filter instanceof Or or) {
      return may(file, or.left()) || may(file, or.right());
    }
    if (filter instanceof IsNull absent && column(absent.child()) != null) {
      return !Long.valueOf(0).equals(column(absent.child()).nulls[file]);
    }
    if (filter instanceof IsNotNull present && column(present.child()) != null) {
      return hasValues(file, column(present.child()));
    }
    if (filter instanceof In in && column(in.value()) != null) {
      return PlanRule.list(in.list()).stream()
          .anyMatch(value -> !(value instanceof Literal literal) || mayEqual(file, column(in.value()), literal.value()));
    }
    if (filter instanceof InSet in && column(in.child()) != null) {
      return CollectionConverters.asJava(in.hset()).stream()
          .anyMatch(value -> mayEqual(file, column(in.child()), value));
    }
    if (filter instanceof Not not && column(not.child()) != null) {
      return mayEqual(file, column(not.child()), false);
    }
    if (column(filter) != null) {
      return mayEqual(file, column(filter), true);
    }
    return !(filter instanceof BinaryComparison comparison) || mayCompare(file, comparison);
  }

  private boolean mayCompare(int file, BinaryComparison comparison) {
    Expression left = comparison.left();
    Expression right = comparison.right();
    boolean swapped = left instanceof Literal;
    Bounds column = column(swapped ? right : left);
    if (column == null || !((swapped ? left : right) instanceof Literal literal) || literal.value() == null) {
      return true;
    }
    Object value = literal.value();
    if (comparison instanceof EqualTo || comparison instanceof EqualNullSafe) {
      return mayEqual(file, column, value);
    }
    boolean orEqual = comparison instanceof LessThanOrEqual || comparison instanceof GreaterThanOrEqual;
    boolean isLess = comparison instanceof LessThan || comparison instanceof LessThanOrEqual;
    if (!isLess && !(comparison instanceof GreaterThan || comparison instanceof GreaterThanOrEqual)) {
      return true;
    }
    if (!hasValues(file, column)) {
      return false;
    }
    Integer order = isLess != swapped ? order(column.lower[file], value) : order(value, column.upper[file]);
    return order == null || order < 0 || (orEqual && order == 0);
  }

  private boolean mayEqual(int file, Bounds column, Object value) {
    if (value == null) {
      return false;
    }
    Integer below = order(column.lower[file], value);
    Integer above = order(value, column.upper[file]);
    return hasValues(file, column) && (below == null || below <= 0) && (above == null || above <= 0);
  }

  private boolean hasValues(int file, Bounds column) {
    return column.nulls[file] == null || column.nulls[file] < rows[file];
  }

  /** Compares two values in the same way as `compareTo`. Returns null if the order is unknown. */
  private static Integer order(Object left, Object right) {
    Object one = plain(left);
    Object other = plain(right);
    if (one instanceof Long number && other instanceof Long bound) {
      return number.compareTo(bound);
    }
    if (one instanceof UTF8String text && other instanceof UTF8String bound) {
      return text.compareTo(bound);
    }
    if (one instanceof Double number && other instanceof Double bound && !number.isNaN() && !bound.isNaN()) {
      // compareTo would order -0.0 before 0.0.
      return number < bound ? -1 : number > bound ? 1 : 0;
    }
    return null;
  }

  /**
   * Returns a literal's value, converted to the type of a bound. Returns null if no bound has a type for this
   * value.
   */
  private static Object plain(Object value) {
    if (value instanceof Boolean flag) {
      return flag ? 1L : 0L;
    }
    if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return ((Number) value).longValue();
    }
    if (value instanceof Float || value instanceof Double) {
      return ((Number) value).doubleValue();
    }
    return value instanceof UTF8String ? value : null;
  }

  /**
   * Returns the statistics of a top-level column, or of a field inside a column; null if the statistics are
   * unknown.
   */
  private Bounds column(Expression value) {
    String path = path(value);
    return path == null ? null : columns.get(path);
  }

  private static String path(Expression value) {
    if (value instanceof AttributeReference column) {
      return column.name();
    }
    if (value instanceof GetStructField member && path(member.child()) != null) {
      StructType struct = (StructType) member.child().dataType();
      return path(member.child()) + "." + struct.fields()[member.ordinal()].name();
    }
    return null;
  }
}

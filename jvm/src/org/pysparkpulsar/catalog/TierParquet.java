package org.pysparkpulsar.catalog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.sources.And;
import org.apache.spark.sql.sources.EqualNullSafe;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.IsNotNull;
import org.apache.spark.sql.sources.IsNull;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;
import org.apache.spark.sql.sources.Or;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.pysparkpulsar.source.PulsarException;
import scala.Function1;
import scala.collection.Iterator;
import scala.collection.immutable.Map;
import scala.collection.immutable.Seq;

/**
 * Spark's Parquet format with two changes. Filters on floating-point columns that would lose rows are not
 * used, and missing columns are always read with their defaults.
 *
 * <p>Arrow leaves NaN out of the bounds of a row group, as the Parquet format requires, but Spark orders NaN
 * above all numbers. So `x > 5` would skip a row group whose only such value is NaN. Dictionaries distinguish
 * 0.0 from -0.0, which are equal in Spark. Spark evaluates all filters again on the rows that are read.
 *
 * <p>If a file lacks a column, Spark's vectorized reader returns the value of the metadata `EXISTS_DEFAULT`.
 * The other reader of 4.1 to 4.3 ignores that metadata if columns of the file follow.
 */
final class TierParquet extends ParquetFileFormat {
  static final String DEFAULT = "EXISTS_DEFAULT";

  /** Returns whether Spark reads these columns, or a part of them, with the defaults of missing columns. */
  static boolean givesDefaults(StructType columns) {
    return ParquetUtils.isBatchReadSupportedForSchema(SQLConf.get(), columns);
  }

  @Override
  public Function1<PartitionedFile, Iterator<InternalRow>> buildReaderWithPartitionValues(
      SparkSession session, StructType data, StructType partitions, StructType required, Seq<Filter> filters,
      Map<String, String> options, Configuration hadoop) {
    if (Arrays.stream(required.fields()).anyMatch(field -> field.metadata().contains(DEFAULT)) && !givesDefaults(required)) {
      throw PulsarException.raised(
          "a scan of a topic's table: expected vectorized reads of Parquet, as in the query's plan, got row reads; plan the "
              + "query again");
    }
    List<Filter> kept = new ArrayList<>();
    for (Filter filter : PlanRule.list(filters)) {
      if (isExact(filter, data)) {
        kept.add(filter);
      }
    }
    return super.buildReaderWithPartitionValues(
        session, data, partitions, required, PlanRule.seq(kept), options, hadoop);
  }

  private static boolean isExact(Filter filter, StructType data) {
    if (filter instanceof And and) {
      return isExact(and.left(), data) && isExact(and.right(), data);
    }
    if (filter instanceof Or or) {
      return isExact(or.left(), data) && isExact(or.right(), data);
    }
    if (Arrays.stream(filter.v2references()).noneMatch(path -> isFloating(path, data))) {
      return true;
    }
    if (filter instanceof EqualTo equal) {
      return isPlain(equal.value());
    }
    if (filter instanceof EqualNullSafe equal) {
      return isPlain(equal.value());
    }
    if (filter instanceof In in) {
      return Arrays.stream(in.values()).allMatch(TierParquet::isPlain);
    }
    if (filter instanceof LessThan less) {
      return isPlain(less.value());
    }
    if (filter instanceof LessThanOrEqual less) {
      return isPlain(less.value());
    }
    return filter instanceof IsNull || filter instanceof IsNotNull;
  }

  /** Returns whether the value is null, or a number that is neither zero nor NaN. */
  private static boolean isPlain(Object value) {
    double number = value instanceof Number given ? given.doubleValue() : Double.NaN;
    return value == null || !(number == 0 || Double.isNaN(number));
  }

  /** Returns whether the path is a floating-point column. The result is also true for an unknown path. */
  private static boolean isFloating(String[] path, StructType data) {
    DataType type = data;
    for (String name : path) {
      type = type instanceof StructType struct ? member(struct, name) : null;
    }
    return type == null || type instanceof FloatType || type instanceof DoubleType;
  }

  private static DataType member(StructType struct, String name) {
    for (StructField field : struct.fields()) {
      if (field.name().equalsIgnoreCase(name)) {
        return field.dataType();
      }
    }
    return null;
  }
}

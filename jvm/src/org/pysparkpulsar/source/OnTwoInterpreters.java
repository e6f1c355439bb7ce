package org.pysparkpulsar.source;

import java.util.Map;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceWriteInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonFilterPushdownResult;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceCommitRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceFilterPushdownRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceReadRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceRunner;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSourceWriteRunner;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.execution.python.PythonPlannerRunner;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A data source that plans in one process with the driver's interpreter, and runs tasks with the executors'
 * interpreter.
 */
final class OnTwoInterpreters extends UserDefinedPythonDataSource {
  private final String driver;
  private final UserDefinedPythonDataSource onExecutors;

  OnTwoInterpreters(SimplePythonFunction onDriver, SimplePythonFunction onExecutors) {
    super(onDriver);
    this.driver = onDriver.pythonExec();
    this.onExecutors = new UserDefinedPythonDataSource(onExecutors);
  }

  @Override
  public PythonDataSourceCreationResult createDataSourceInPython(
      String provider, CaseInsensitiveStringMap options, Option<StructType> columns) {
    return DriverPrograms.POSSIBLE
        ? run(new UserDefinedPythonDataSourceRunner(dataSourceCls(), provider, columns, written(options)))
        : super.createDataSourceInPython(provider, options, columns);
  }

  @Override
  public Option<PythonFilterPushdownResult> pushdownFiltersInPython(
      PythonDataSourceCreationResult made, StructType columns, Filter[] filters) {
    if (!DriverPrograms.POSSIBLE) {
      return super.pushdownFiltersInPython(made, columns, filters);
    }
    UserDefinedPythonDataSourceFilterPushdownRunner runner =
        new UserDefinedPythonDataSourceFilterPushdownRunner(
            createPythonFunction(made.dataSource()), columns, CollectionConverters.asScala(java.util.List.of(filters)));
    return runner.isAnyFilterSupported() ? Option.apply(run(runner)) : Option.empty();
  }

  @Override
  public PythonDataSourceReadInfo createReadInfoInPython(
      PythonDataSourceCreationResult made, StructType columns, boolean streams) {
    return DriverPrograms.POSSIBLE
        ? run(
            new UserDefinedPythonDataSourceReadRunner(
                createPythonFunction(made.dataSource()), readInputSchema(), columns, streams))
        : super.createReadInfoInPython(made, columns, streams);
  }

  @Override
  public PythonDataSourceWriteInfo createWriteInfoInPython(
      String provider, StructType columns, CaseInsensitiveStringMap options, boolean overwrites, boolean streams) {
    return DriverPrograms.POSSIBLE
        ? run(
            new UserDefinedPythonDataSourceWriteRunner(
                dataSourceCls(), provider, columns, scala(options), overwrites, streams))
        : super.createWriteInfoInPython(provider, columns, options, overwrites, streams);
  }

  @Override
  public void commitWriteInPython(byte[] writer, WriterCommitMessage[] messages, boolean aborts) {
    if (DriverPrograms.POSSIBLE) {
      run(new UserDefinedPythonDataSourceCommitRunner(dataSourceCls(), writer, messages, aborts));
    } else {
      super.commitWriteInPython(writer, messages, aborts);
    }
  }

  @Override
  public MapInBatchEvaluatorFactory createMapInBatchEvaluatorFactory(
      byte[] function,
      String name,
      StructType input,
      StructType output,
      scala.collection.immutable.Map<String, SQLMetric> metrics,
      Option<String> artifacts,
      Option<String> session) {
    return onExecutors.createMapInBatchEvaluatorFactory(function, name, input, output, metrics, artifacts, session);
  }

  private <T> T run(PythonPlannerRunner<T> runner) {
    return DriverProcess.of(driver).run(runner);
  }

  /** Returns the options. The keys have the same case as in the user's program. */
  private static CaseInsensitiveMap<String> written(CaseInsensitiveStringMap options) {
    return CaseInsensitiveMap$.MODULE$.apply(scala(options));
  }

  private static scala.collection.immutable.Map<String, String> scala(CaseInsensitiveStringMap options) {
    Map<String, String> keys = options.asCaseSensitiveMap();
    return scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(keys));
  }
}

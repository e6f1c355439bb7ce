package org.pysparkpulsar.catalog;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/** A rule that changes each node of a plan by itself. */
abstract class PlanRule extends Rule<LogicalPlan> {
  /** Returns the node's replacement, or the node itself. */
  abstract LogicalPlan changed(LogicalPlan node);

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return true;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            return changed(node);
          }
        });
  }

  static <T> Seq<T> seq(List<T> items) {
    return CollectionConverters.asScala(items).toSeq();
  }

  static <T> List<T> list(Seq<T> items) {
    return CollectionConverters.asJava(items);
  }

  static List<String> names(Seq<? extends AttributeReference> output) {
    List<String> names = new ArrayList<>();
    for (AttributeReference each : CollectionConverters.asJava(output)) {
      names.add(each.name());
    }
    return names;
  }
}

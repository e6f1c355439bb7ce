package org.pysparkpulsar.source;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/**
 * The sums of the counts of a query's tasks, which the driver collects. Python defines the names of the
 * counts (`read/task/read_counts.py`).
 */
final class TaskCounts extends AccumulatorV2<Map<String, Long>, Map<String, Long>> {
  private static final long serialVersionUID = 1;

  private final ConcurrentHashMap<String, Long> sums = new ConcurrentHashMap<>();

  /** Returns a new instance that is registered on the driver, so that tasks can add to their copies. */
  static TaskCounts registered() {
    TaskCounts counts = new TaskCounts();
    SparkContext.getOrCreate().register(counts);
    return counts;
  }

  @Override
  public boolean isZero() {
    return sums.isEmpty();
  }

  @Override
  public TaskCounts copy() {
    TaskCounts copy = new TaskCounts();
    copy.add(sums);
    return copy;
  }

  @Override
  public void reset() {
    sums.clear();
  }

  @Override
  public void add(Map<String, Long> counts) {
    counts.forEach((name, count) -> sums.merge(name, count, Long::sum));
  }

  @Override
  public void merge(AccumulatorV2<Map<String, Long>, Map<String, Long>> other) {
    add(other.value());
  }

  /** Returns the sums, sorted by name. Sums of 0 are omitted. */
  @Override
  public Map<String, Long> value() {
    Map<String, Long> value = new TreeMap<>(sums);
    value.values().removeIf(count -> count == 0);
    return value;
  }
}

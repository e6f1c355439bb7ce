import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.TaskKilledException;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Readers of a topic's record batches in threads that outlive the task, each in many rounds in one JVM.
 *
 * <p>Arguments: service URL, topic, rounds. The topic has the columns {@code id bigint, text string}; `text` repeats the
 * digits of `id`, so each row tells whether its memory is still its own. Prints "ok" and the name of each case; the first
 * wrong value ends the program with an error, and memory that was freed ends the JVM.
 */
public final class LateReaders {
  private static final Queue<String> FAULTS = new ConcurrentLinkedQueue<>();
  private static final Queue<Thread> THREADS = new ConcurrentLinkedQueue<>();
  private static final Queue<Object> HELD = new ConcurrentLinkedQueue<>();
  private static volatile CountDownLatch ended = new CountDownLatch(1);

  private LateReaders() {}

  public static void main(String[] arguments) throws Exception {
    SparkSession spark = SparkSession.builder().getOrCreate();
    Dataset<Row> rows =
        spark.read().format("pulsar").option("service.url", arguments[0]).option("topic", arguments[1])
            .option("batchRows", "1000").option("columns", "id,text").load();
    rows.createOrReplaceTempView("t");
    int rounds = Integer.parseInt(arguments[2]);
    long count = rows.count();

    say("batches that are held", heldBatches(rows, count));
    for (int round = 0; round < rounds; round++) {
      afterTheTask(rows);
      whileTheTaskEnds(rows);
      cancelled(spark, rows);
      List<Row> found =
          spark.sql("SELECT TRANSFORM(id, text) USING 'cat' AS (id STRING, text STRING) FROM t LIMIT 3").collectAsList();
      expect(found.size() == 3, "TRANSFORM returned " + found.size() + " rows of 3");
      for (Row each : found) {
        expect(text(Long.parseLong(each.getString(0))).equals(each.getString(1)), "TRANSFORM returned " + each);
      }
      expect(rows.queryExecution().toRdd().toJavaRDD().pipe("head -n 1").count() > 0, "pipe returned no row");
    }
    say("threads", FAULTS.isEmpty());
    System.exit(0);
  }

  /** All batches of a task are read before the first cell of any is looked at. */
  private static boolean heldBatches(Dataset<Row> rows, long count) {
    List<Long> ids =
        batches(rows)
            .mapPartitions(
                given -> {
                  List<ColumnarBatch> held = new ArrayList<>();
                  given.forEachRemaining(held::add);
                  List<Long> found = new ArrayList<>();
                  for (ColumnarBatch batch : held) {
                    for (Iterator<InternalRow> each = batch.rowIterator(); each.hasNext(); ) {
                      found.add(checked(each.next()));
                    }
                  }
                  return found.iterator();
                })
            .collect();
    Set<Long> distinct = new HashSet<>(ids);
    expect(ids.size() == count && distinct.size() == count, ids.size() + " rows, " + distinct.size() + " distinct");
    return FAULTS.isEmpty();
  }

  /** A thread that begins to read when the task has ended: values that it holds are right, and others an error. */
  private static void afterTheTask(Dataset<Row> rows) throws InterruptedException {
    ended = new CountDownLatch(1);
    batches(rows)
        .mapPartitions(
            given -> {
              ColumnarBatch batch = given.next();
              long id = batch.column(0).getLong(0);
              UTF8String text = batch.column(1).getUTF8String(0);
              start(
                  () -> {
                    ended.await();
                    expect(text(id).equals(text.toString()), "a text that was read before is " + text);
                    readOn(batch.rowIterator());
                    given.next();
                    expect(false, "a batch was returned after the task");
                  });
              return List.of(1).iterator();
            })
        .collect();
    ended.countDown();
    join();
  }

  /** A thread that reads while its task ends at some moment. Spark makes its readers in the task's own thread only. */
  private static void whileTheTaskEnds(Dataset<Row> rows) throws InterruptedException {
    batches(rows)
        .mapPartitions(
            given -> {
              given.hasNext();
              start(() -> given.forEachRemaining(batch -> readOn(batch.rowIterator())));
              Thread.sleep(THREADS.size() * 7L % 60);
              return List.of(1).iterator();
            })
        .collect();
    join();
  }

  /** As above, of a job that is cancelled. */
  private static void cancelled(SparkSession spark, Dataset<Row> rows) throws InterruptedException {
    CountDownLatch started = new CountDownLatch(1);
    Thread job =
        new Thread(
            () -> {
              spark.sparkContext().setJobGroup("late", "late", true);
              try {
                batches(rows)
                    .mapPartitions(
                        given -> {
                          given.hasNext();
                          start(() -> given.forEachRemaining(batch -> readOn(batch.rowIterator())));
                          HELD.add(given);
                          Thread.sleep(60_000);
                          return List.of(1).iterator();
                        })
                    .collect();
                expect(false, "a job that was cancelled has ended well");
              } catch (Exception fault) {
                started.countDown();
              }
            });
    job.start();
    while (HELD.isEmpty()) {
      Thread.sleep(1);
    }
    spark.sparkContext().cancelJobGroup("late");
    expect(started.await(60, TimeUnit.SECONDS), "a job that was cancelled goes on");
    job.join();
    HELD.clear();
    join();
  }

  private static void readOn(Iterator<InternalRow> rows) {
    while (rows.hasNext()) {
      checked(rows.next());
    }
  }

  private static long checked(InternalRow row) {
    long id = row.getLong(0);
    String text = row.getUTF8String(1).toString();
    expect(text(id).equals(text), "the text of row " + id + " is " + text.substring(0, Math.min(40, text.length())));
    return id;
  }

  private static String text(long id) {
    return Long.toString(id).repeat(200);
  }

  private interface Reading {
    void run() throws Exception;
  }

  private static void start(Reading reading) {
    Thread thread =
        new Thread(
            () -> {
              try {
                reading.run();
              } catch (TaskKilledException fault) {
                // What a thread gets that reads on after its task.
              } catch (Throwable fault) {
                if (!isOfSpark(fault)) {
                  FAULTS.add("a thread got " + fault);
                }
              }
            });
    THREADS.add(thread);
    thread.start();
  }

  /** Whether Spark's iterator has let go of our reader between two steps of the thread, since the task has ended. */
  private static boolean isOfSpark(Throwable fault) {
    StackTraceElement[] steps = fault.getStackTrace();
    return fault instanceof NullPointerException
        && steps.length > 0
        && steps[0].getClassName().equals("org.apache.spark.sql.execution.datasources.v2.PartitionIterator");
  }

  private static void join() throws InterruptedException {
    for (Thread each = THREADS.poll(); each != null; each = THREADS.poll()) {
      each.join(60_000);
      expect(!each.isAlive(), "a thread reads on a minute after its task");
    }
    if (!FAULTS.isEmpty()) {
      say(FAULTS.peek(), false);
    }
  }

  private static void expect(boolean holds, String fault) {
    if (!holds) {
      FAULTS.add(fault);
    }
  }

  private static void say(String what, boolean holds) {
    System.out.println((holds ? "ok " : "FAILED ") + what + (holds ? "" : ": " + FAULTS));
    if (!holds) {
      System.exit(1);
    }
  }

  private static JavaRDD<ColumnarBatch> batches(Dataset<Row> rows) {
    SparkPlan node = rows.queryExecution().executedPlan();
    while (!(node instanceof BatchScanExec)) {
      node = node.children().head();
    }
    return node.executeColumnar().toJavaRDD();
  }
}

package org.pysparkpulsar.source;

import java.io.IOException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Writing to the standard input of a child process with a deadline, which a pipe has none of its own. */
public final class BoundedWrite {
  /** Far above the time in which a process that runs empties its pipe. */
  public static final long SECONDS = 30;

  private static final ScheduledThreadPoolExecutor TIMER = timer();

  private BoundedWrite() {}

  /** Something that writes to the process. */
  @FunctionalInterface
  public interface Writing {
    void run() throws IOException;
  }

  /**
   * Runs `writing`, and ends the process when that takes longer than `seconds`: nothing else wakes a thread that writes
   * to a full pipe. Throws what `writing` throws, and then an IOException that says so.
   */
  public static void within(long seconds, Process process, Writing writing) throws IOException {
    AtomicBoolean late = new AtomicBoolean();
    ScheduledFuture<?> end =
        TIMER.schedule(
            () -> {
              late.set(true);
              process.destroyForcibly();
            },
            seconds,
            TimeUnit.SECONDS);
    try {
      writing.run();
    } catch (IOException fault) {
      throw late.get()
          ? new IOException("it did not read what was sent to it within " + seconds + " seconds, and was ended", fault)
          : fault;
    } finally {
      end.cancel(false);
    }
  }

  private static ScheduledThreadPoolExecutor timer() {
    ScheduledThreadPoolExecutor timer =
        new ScheduledThreadPoolExecutor(
            1,
            work -> {
              Thread thread = new Thread(work, "pulsar-write-deadlines");
              thread.setDaemon(true);
              return thread;
            });
    timer.setRemoveOnCancelPolicy(true);
    return timer;
  }
}

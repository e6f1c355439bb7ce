package org.pysparkpulsar.process;

import java.io.IOException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/** Writing to the standard input of a child process with a deadline, which a pipe has none of its own. */
final class BoundedWrite {
  /** Far above the time in which a process that runs empties its pipe. */
  static final long SECONDS = 30;

  private static final ScheduledThreadPoolExecutor TIMER = timer();

  private BoundedWrite() {}

  /** Something that writes to the process. */
  @FunctionalInterface
  interface Writing {
    void run() throws IOException;
  }

  /**
   * Runs `writing`, and ends the process when that takes longer than `seconds`: nothing else wakes a thread that writes
   * to a full pipe. Throws what `writing` throws, and in this case a TimeoutException.
   */
  static void within(long seconds, Process process, Writing writing) throws IOException, TimeoutException {
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
      if (late.get()) {
        throw new TimeoutException("it did not read what was sent to it within " + seconds + " seconds, and was ended");
      }
      throw fault;
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

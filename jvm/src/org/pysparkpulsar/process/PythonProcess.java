package org.pysparkpulsar.process;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.pysparkpulsar.process.Call.Retry;
import org.pysparkpulsar.process.RunningProcess.Gone;

/**
 * A Python process of this package, and the calls to the process. This class is the only channel between the
 * JVM and Python.
 *
 * <p>A JVM has one process for each interpreter with equal settings. The first call starts the process. If
 * the process has ended, the next call starts another process, and a pending call is sent again if its {@link
 * Retry} allows that. The process ends when its standard input is closed, and so it always ends together with
 * this JVM.
 *
 * <p>Settings may contain secrets. So settings are sent through the pipe, and no argument or environment
 * variable contains them. Starting, writing and waiting have deadlines.
 */
public final class PythonProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Map<String, PythonProcess> SHARED = new ConcurrentHashMap<>();
  private static final long START_SECONDS = 120;
  private static final byte[] NO_BODY = new byte[0];

  private final Service service;
  private final String python;
  private final ObjectNode settings;
  private final Semaphore turns;
  /** Calls that each restarted process receives at its start. */
  private final Map<String, Resumed> resumed = new ConcurrentHashMap<>();

  private RunningProcess running;
  private JsonNode ready;

  private PythonProcess(Service service, String python, ObjectNode settings) {
    this.service = service;
    this.python = python;
    this.settings = settings;
    turns = new Semaphore(service.callsAtOnce(), true);
  }

  /** Returns the process for these settings, which the service in Python receives as its first frame. */
  public static PythonProcess of(Service service, String python, ObjectNode settings) {
    String key = service.module() + " " + python + " " + settings;
    return SHARED.computeIfAbsent(key, any -> new PythonProcess(service, python, settings));
  }

  /** Returns an object for arguments. */
  public static ObjectNode arguments() {
    return JSON.createObjectNode();
  }

  /**
   * Returns the process's answer to its settings. Starts the process if it does not run.
   *
   * @throws Refusal if the settings are wrong
   */
  public synchronized JsonNode ready() throws IOException, Refusal {
    started();
    return ready;
  }

  public Answer call(Call call, ObjectNode arguments) throws IOException, Refusal {
    return call(call, arguments, NO_BODY, 0);
  }

  /**
   * Returns the answer to a call, which is sent with the first `length` bytes of `body`.
   *
   * @throws Refusal if the process answers with an error
   * @throws InterruptedIOException if this thread is interrupted; its interrupt flag stays set
   * @throws IOException if no answer arrives, with a message for users
   */
  public Answer call(Call call, ObjectNode arguments, byte[] body, int length) throws IOException, Refusal {
    try {
      return callOnce(call, arguments, body, length);
    } catch (Gone fault) {
      if (call.retry() == Retry.BOUND || (call.retry() == Retry.ONCE && fault.sent)) {
        throw unanswered(call, fault.getMessage());
      }
    }
    try {
      return callOnce(call, arguments, body, length);
    } catch (Gone fault) {
      throw unanswered(call, fault.getMessage());
    }
  }

  /** Sends a call if the process runs, and does not wait for the answer. */
  public void post(String call, ObjectNode arguments) {
    RunningProcess target;
    synchronized (this) {
      target = running;
    }
    if (target != null && target.isAlive()) {
      try {
        target.begin(call, arguments, NO_BODY, 0);
      } catch (Gone fault) {
        // A process that has ended needs no message.
      }
    }
  }

  /**
   * Sends the call to each restarted process at its start. The call replaces an earlier call with the same
   * key.
   */
  public void resume(String key, String call, ObjectNode arguments) {
    resumed.put(key, new Resumed(call, arguments));
  }

  private Answer callOnce(Call call, ObjectNode arguments, byte[] body, int length) throws IOException, Refusal, Gone {
    takeTurn(call);
    RunningProcess target;
    CompletableFuture<Answer> answer;
    try {
      target = started();
      answer = target.begin(call.name(), arguments, body, length);
    } catch (IOException | Refusal | Gone | RuntimeException fault) {
      turns.release();
      throw fault;
    }
    // Even if no thread waits for the call any longer, the call occupies a thread in Python. So its permit is
    // released only when the answer arrives.
    answer.whenComplete((done, fault) -> turns.release());
    try {
      return accepted(answer.get(service.callSeconds(), TimeUnit.SECONDS));
    } catch (InterruptedException fault) {
      return afterInterrupt(call, target, answer);
    } catch (ExecutionException fault) {
      throw (Gone) fault.getCause();
    } catch (TimeoutException fault) {
      String cause = "no answer arrived within " + service.callSeconds() + " seconds";
      if (!target.isSilent(service.callSeconds())) {
        // The process answers other calls, so only this call hangs.
        throw unanswered(call, cause);
      }
      target.end(cause);
      throw new Gone(cause, true);
    }
  }

  private void takeTurn(Call call) throws InterruptedIOException {
    if (secondsAfterInterrupt(call) > 0) {
      // A cancelled statement must still be able to clean up. For example, CREATE TABLE AS SELECT then drops
      // its table.
      turns.acquireUninterruptibly();
      return;
    }
    try {
      turns.acquire();
    } catch (InterruptedException fault) {
      throw interrupted(call);
    }
  }

  private Answer afterInterrupt(Call call, RunningProcess target, CompletableFuture<Answer> answer)
      throws IOException, Refusal {
    try {
      Answer late = answer.get(secondsAfterInterrupt(call), TimeUnit.SECONDS);
      Thread.currentThread().interrupt();
      return accepted(late);
    } catch (InterruptedException | ExecutionException | TimeoutException fault) {
      if (service.callsAtOnce() == 1) {
        target.end("its call was cancelled");
      }
      throw interrupted(call);
    }
  }

  /** Seconds for which an interrupted thread waits for the answer. */
  private long secondsAfterInterrupt(Call call) {
    return call.retry() == Retry.IDEMPOTENT ? 0 : service.interruptSeconds();
  }

  private synchronized RunningProcess started() throws IOException, Refusal {
    if (running == null || !running.isAlive()) {
      running = null;
      running = start();
    }
    return running;
  }

  private RunningProcess start() throws IOException, Refusal {
    RunningProcess fresh;
    try {
      fresh = RunningProcess.start(python, service.module());
    } catch (IOException fault) {
      throw notStarted("it does not start (" + fault.getMessage() + ")");
    }
    String cause = "it was not ready";
    try {
      ready = accepted(fresh.introduce(settings).get(START_SECONDS, TimeUnit.SECONDS)).header();
      for (Resumed each : resumed.values()) {
        fresh.begin(each.call, each.arguments, NO_BODY, 0);
      }
      cause = null;
      return fresh;
    } catch (InterruptedException fault) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException(
          service.purpose() + ": interrupted while the process started; run the query again");
    } catch (TimeoutException fault) {
      throw notStarted("it was not ready within " + START_SECONDS + " seconds");
    } catch (ExecutionException fault) {
      throw notStarted(fault.getCause().getMessage());
    } catch (Gone fault) {
      throw notStarted(fault.getMessage());
    } finally {
      if (cause != null) {
        fresh.end(cause);
      }
    }
  }

  private static Answer accepted(Answer answer) throws Refusal {
    JsonNode error = answer.header().path("error");
    if (!error.isMissingNode()) {
      throw new Refusal(error.path("kind").asText(), error.path("message").asText());
    }
    return answer;
  }

  private static InterruptedIOException interrupted(Call call) {
    Thread.currentThread().interrupt();
    return new InterruptedIOException(
        call.subject() + ": interrupted while waiting for an answer; run the query again");
  }

  private IOException unanswered(Call call, String cause) {
    return new IOException(
        call.subject() + ": expected an answer of its process (" + python + " -m " + service.module() + "), got none: "
            + cause + "; " + call.advice());
  }

  private IOException notStarted(String cause) {
    return new IOException(Interpreter.refused(service.purpose(), python, cause));
  }

  private record Resumed(String call, ObjectNode arguments) {}
}

package org.pysparkpulsar.checkpoint;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.pysparkpulsar.process.Answer;
import org.pysparkpulsar.process.Call;
import org.pysparkpulsar.process.Call.Retry;
import org.pysparkpulsar.process.PythonProcess;
import org.pysparkpulsar.process.Refusal;
import org.pysparkpulsar.process.Service;

/** The Python process that stores checkpoints. The process handles many calls at the same time. */
final class CheckpointProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** The wait after an interrupt is short, because a stopped query may start again immediately. */
  private static final Service SERVICE =
      new Service("checkpoints in Pulsar", "pyspark_pulsar.checkpoint", 32, 120, 10);

  /**
   * Calls that can be repeated. For example, a file can be replaced by the same bytes, and the same owner can
   * take over a checkpoint again.
   */
  private static final Set<String> IDEMPOTENT = Set.of("status", "list", "open", "read", "take_over", "mkdirs");

  private static final Set<String> OF_AN_UPLOAD = Set.of("upload_write", "upload_commit", "upload_abort");

  private final PythonProcess process;

  private CheckpointProcess(PythonProcess process) {
    this.process = process;
  }

  static CheckpointProcess of(String python, Map<String, String> settings) {
    ObjectNode first = arguments();
    first.set("settings", JSON.valueToTree(new TreeMap<>(settings)));
    return new CheckpointProcess(PythonProcess.of(SERVICE, python, first));
  }

  static ObjectNode arguments() {
    return JSON.createObjectNode();
  }

  /**
   * Sends a call with the first `length` bytes of `body`.
   *
   * @throws Refusal if the answer is an error
   */
  Answer call(String call, ObjectNode arguments, byte[] body, int length) throws IOException, Refusal {
    Answer answer = process.call(described(call, arguments), arguments, body, length);
    if (call.equals("take_over")) {
      // A restarted process must also remove data that the checkpoint no longer needs.
      process.resume(arguments.path("path").asText(), "look_after", arguments);
    }
    return answer;
  }

  private static Call described(String call, ObjectNode arguments) {
    boolean overwrites = call.equals("put") && "overwrite".equals(arguments.path("mode").asText());
    boolean isIdempotent = overwrites || IDEMPOTENT.contains(call);
    Retry retry = isIdempotent ? Retry.IDEMPOTENT : OF_AN_UPLOAD.contains(call) ? Retry.BOUND : Retry.ONCE;
    String path = arguments.path("path").asText(arguments.path("source").asText(""));
    String advice =
        isIdempotent ? "run the query again" : "the outcome is unknown: start the query again to check the outcome";
    return new Call(call, "checkpoint" + (path.isEmpty() ? "" : " " + path) + ", " + call, retry, advice);
  }
}

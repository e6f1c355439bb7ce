package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.pysparkpulsar.process.Call;
import org.pysparkpulsar.process.Call.Retry;
import org.pysparkpulsar.process.Interpreter;
import org.pysparkpulsar.process.PythonProcess;
import org.pysparkpulsar.process.Refusal;
import org.pysparkpulsar.process.Service;
import org.pysparkpulsar.source.PulsarException;

/** The Python process that knows Pulsar; catalogs of equal settings share one. */
final class CatalogProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Dropping a namespace goes topic by topic. The catalog in Python is made for one thread. */
  private static final Service SERVICE = new Service("the Pulsar catalog", "pyspark_pulsar.catalog", 1, 900, 30);

  private static final Set<String> IDEMPOTENT =
      Set.of(
          "list_namespaces", "load_namespace", "list_tables", "load_table", "table_properties", "rows", "tier_scan",
          "load_changelog", "partitions", "load_partition", "list_procedures", "load_procedure", "follow_procedure");

  private final PythonProcess process;

  private CatalogProcess(PythonProcess process) {
    this.process = process;
  }

  static CatalogProcess of(String catalog, Map<String, String> settings) {
    ObjectNode first = arguments().put("catalog", catalog);
    first.set("settings", tree(new TreeMap<>(settings)));
    return new CatalogProcess(PythonProcess.of(SERVICE, Interpreter.of(settings), first));
  }

  static ObjectNode arguments() {
    return JSON.createObjectNode();
  }

  static JsonNode tree(Object value) {
    return JSON.valueToTree(value);
  }

  static JsonNode parse(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException fault) {
      throw new IllegalStateException(fault);
    }
  }

  /** Returns the result of the call. Throws an AnalysisException if no answer arrives. */
  JsonNode ask(String call, ObjectNode arguments) throws Refusal {
    boolean isIdempotent = IDEMPOTENT.contains(call);
    String advice =
        isIdempotent
            ? "run it again"
            : "the change may be done, done in part or not at all: look, and drop a table that is half made";
    try {
      return process
          .call(
              new Call(call, "the Pulsar catalog, " + call, isIdempotent ? Retry.IDEMPOTENT : Retry.ONCE, advice),
              arguments)
          .result();
    } catch (IOException fault) {
      throw PulsarException.raised(fault.getMessage());
    }
  }
}

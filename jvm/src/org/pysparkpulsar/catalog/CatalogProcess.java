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

/** The Python process of the catalog, which accesses Pulsar. Catalogs with equal settings share one process. */
final class CatalogProcess {
  private static final ObjectMapper JSON = new ObjectMapper();
  /**
   * The service. Its calls run one at a time, because the catalog in Python is made for one thread. The
   * deadline of a call is long, because dropping a namespace drops one topic after the other.
   */
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

  /**
   * Returns the result of the call.
   *
   * @throws Refusal if the process answers with an error
   * @throws AnalysisException if no answer arrives
   */
  JsonNode call(String call, ObjectNode arguments) throws Refusal {
    boolean isIdempotent = IDEMPOTENT.contains(call);
    String advice =
        isIdempotent
            ? "run the statement again"
            : "the change may be complete, partial or missing: check the table, and drop an incomplete table";
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

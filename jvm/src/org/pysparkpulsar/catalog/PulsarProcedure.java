package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.pysparkpulsar.source.PulsarException;

/**
 * A procedure for `CALL catalog.system.name(...)`. The Python process describes the procedures and their
 * parameters.
 */
final class PulsarProcedure implements UnboundProcedure, BoundProcedure {
  private final JsonNode described;
  private final BiFunction<String, ObjectNode, JsonNode> caller;
  private final Function<String, ObjectNode> table;

  /**
   * Creates a procedure.
   *
   * @param described the answer to `load_procedure`
   * @param caller sends a call to the process
   * @param table converts a name to the arguments for a table
   */
  PulsarProcedure(JsonNode described, BiFunction<String, ObjectNode, JsonNode> caller, Function<String, ObjectNode> table) {
    this.described = described;
    this.caller = caller;
    this.table = table;
  }

  /** Returns the table of the catalog that a statement would find by this text. */
  static Identifier table(PulsarCatalog catalog, String text) {
    SparkSession session = SparkSession.active();
    List<String> parts;
    try {
      parts = PlanRule.list(session.sessionState().sqlParser().parseMultipartIdentifier(text));
    } catch (ParseException fault) {
      throw PulsarException.thrown(fault);
    }
    int last = parts.size() - 1;
    if (last == 0) {
      SessionCatalogs catalogs = SessionCatalogs.of(session);
      boolean isCurrent = catalogs.current() == catalog;
      return Identifier.of(isCurrent ? catalogs.currentNamespace() : catalog.defaultNamespace(), parts.get(0));
    }
    int first = last > 1 && parts.get(0).equals(catalog.name()) ? 1 : 0;
    return Identifier.of(parts.subList(first, last).toArray(new String[0]), parts.get(last));
  }

  @Override
  public String name() {
    return described.get("name").asText();
  }

  @Override
  public String description() {
    return described.get("description").asText();
  }

  @Override
  public BoundProcedure bind(StructType arguments) {
    return this;
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public ProcedureParameter[] parameters() {
    JsonNode list = described.get("parameters");
    ProcedureParameter[] parameters = new ProcedureParameter[list.size()];
    for (int i = 0; i < parameters.length; i++) {
      JsonNode each = list.get(i);
      ProcedureParameter.Builder parameter =
          ProcedureParameter.in(each.get("name").asText(), DataType.fromDDL(each.get("type").asText()))
              .comment(each.get("comment").asText());
      parameters[i] =
          (each.get("default").isNull() ? parameter : parameter.defaultValue(each.get("default").asText())).build();
    }
    return parameters;
  }

  /**
   * Calls the procedure. This method waits for work in brokers itself, so that the process can answer other
   * calls in the meantime.
   */
  @Override
  public Iterator<Scan> call(InternalRow given) {
    JsonNode answer = caller.apply("call_procedure", arguments(given));
    while (answer.has("follow")) {
      try {
        Thread.sleep(answer.get("pause_ms").asLong());
      } catch (InterruptedException fault) {
        throw PulsarException.thrown(fault);
      }
      answer = caller.apply("follow_procedure", (ObjectNode) answer.get("follow"));
    }
    return List.of(RowsTable.scan(PulsarTable.columns(described.get("schema")), answer.get("rows"))).iterator();
  }

  private ObjectNode arguments(InternalRow given) {
    ProcedureParameter[] parameters = parameters();
    for (int i = 0; i < parameters.length; i++) {
      if (given.isNullAt(i)) {
        throw PulsarException.raised(
            "CALL " + name() + ": expected a value for " + parameters[i].name() + ", got NULL; set a value, or leave the "
                + "argument out");
      }
    }
    ObjectNode named = table.apply(given.getUTF8String(0).toString()).put("name", name());
    ObjectNode arguments = named.putObject("arguments");
    for (int i = 1; i < parameters.length; i++) {
      Object value = given.get(i, parameters[i].dataType());
      arguments.set(parameters[i].name(), CatalogProcess.tree(value));
    }
    return named;
  }
}

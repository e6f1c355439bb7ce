package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.pysparkpulsar.source.PulsarException;

/** What `CALL catalog.system.name(...)` does; which there are, and what they take, the Python process says. */
final class PulsarProcedure implements UnboundProcedure, BoundProcedure {
  private final JsonNode described;
  private final Questions questions;

  interface Questions {
    /** The result of a call of the process. */
    JsonNode ask(String call, ObjectNode arguments);

    /** Arguments that name the table which this text names. */
    ObjectNode table(String name);
  }

  /** `described`: the answer to `load_procedure`. */
  PulsarProcedure(JsonNode described, Questions questions) {
    this.described = described;
    this.questions = questions;
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
    JsonNode told = described.get("parameters");
    ProcedureParameter[] parameters = new ProcedureParameter[told.size()];
    for (int i = 0; i < parameters.length; i++) {
      JsonNode each = told.get(i);
      ProcedureParameter.Builder parameter =
          ProcedureParameter.in(each.get("name").asText(), DataType.fromDDL(each.get("type").asText()))
              .comment(each.get("comment").asText());
      parameters[i] =
          (each.get("default").isNull() ? parameter : parameter.defaultValue(each.get("default").asText())).build();
    }
    return parameters;
  }

  /** What goes on in brokers is waited for here, while the process answers others. */
  @Override
  public Iterator<Scan> call(InternalRow given) {
    JsonNode answer = questions.ask("call_procedure", arguments(given));
    while (answer.has("follow")) {
      try {
        Thread.sleep(answer.get("pause_ms").asLong());
      } catch (InterruptedException fault) {
        throw PulsarException.thrown(fault);
      }
      answer = questions.ask("follow_procedure", (ObjectNode) answer.get("follow"));
    }
    return List.of(RowsTable.scan(PulsarTable.columns(described.get("schema")), answer.get("rows"))).iterator();
  }

  private ObjectNode arguments(InternalRow given) {
    ProcedureParameter[] parameters = parameters();
    for (int i = 0; i < parameters.length; i++) {
      if (given.isNullAt(i)) {
        throw PulsarException.raised(
            "CALL " + name() + ": expected a value for " + parameters[i].name() + ", got NULL; give one, or leave it out");
      }
    }
    ObjectNode named = questions.table(given.getUTF8String(0).toString()).put("name", name());
    ObjectNode arguments = named.putObject("arguments");
    for (int i = 1; i < parameters.length; i++) {
      Object value = given.get(i, parameters[i].dataType());
      arguments.set(parameters[i].name(), CatalogProcess.tree(value));
    }
    return named;
  }
}

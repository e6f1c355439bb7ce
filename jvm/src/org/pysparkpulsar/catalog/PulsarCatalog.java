package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.ChangelogContext;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableSummary;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.pysparkpulsar.process.Refusal;
import org.pysparkpulsar.source.PulsarException;

/**
 * A catalog that shows the namespaces and topics of Pulsar as namespaces and tables of Spark.
 *
 * <p>Users set `spark.sql.catalog.NAME` to the name of this class, and `spark.sql.catalog.NAME.*` to its
 * settings. The class only passes calls on. The Python package (`pyspark_pulsar.catalog`) interprets names
 * and properties, and {@link CatalogProcess} calls it.
 */
public final class PulsarCatalog implements TableCatalog, SupportsNamespaces, ProcedureCatalog {
  private static final long MICROSECONDS = 1000;

  private String name;
  private Map<String, String> settings;

  @Override
  public void initialize(String catalog, CaseInsensitiveStringMap options) {
    name = catalog;
    settings = new TreeMap<>(options.asCaseSensitiveMap());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[] defaultNamespace() {
    for (Map.Entry<String, String> setting : settings.entrySet()) {
      if (setting.getKey().toLowerCase(Locale.ROOT).equals("defaultnamespace")) {
        return setting.getValue().split("/");
      }
    }
    return new String[] {"public", "default"};
  }

  @Override
  public String[][] listNamespaces() throws NoSuchNamespaceException {
    return listNamespaces(new String[0]);
  }

  @Override
  public String[][] listNamespaces(String[] parent) throws NoSuchNamespaceException {
    ObjectNode arguments = CatalogProcess.arguments();
    arguments.set("parent", CatalogProcess.tree(parent));
    JsonNode answer;
    try {
      answer = call("list_namespaces", arguments);
    } catch (Refusal refusal) {
      throw noSuchNamespace(refusal, parent);
    }
    String[][] found = new String[answer.size()][];
    for (int i = 0; i < found.length; i++) {
      found[i] = texts(answer.get(i));
    }
    return found;
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) throws NoSuchNamespaceException {
    try {
      return PulsarTable.texts(call("load_namespace", of(namespace)));
    } catch (Refusal refusal) {
      throw noSuchNamespace(refusal, namespace);
    }
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> properties)
      throws NamespaceAlreadyExistsException {
    ObjectNode arguments = of(namespace);
    arguments.set("properties", CatalogProcess.tree(properties));
    try {
      call("create_namespace", arguments);
    } catch (Refusal refusal) {
      if (refusal.kind().equals("NamespaceExists")) {
        throw new NamespaceAlreadyExistsException(namespace);
      }
      throw PulsarException.raised(refusal.getMessage());
    }
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) throws NoSuchNamespaceException {
    ObjectNode arguments = Changes.ofNamespace(changes);
    arguments.set("namespace", CatalogProcess.tree(namespace));
    try {
      call("alter_namespace", arguments);
    } catch (Refusal refusal) {
      throw noSuchNamespace(refusal, namespace);
    }
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade)
      throws NoSuchNamespaceException, NonEmptyNamespaceException {
    try {
      return call("drop_namespace", of(namespace).put("cascade", cascade)).asBoolean();
    } catch (Refusal refusal) {
      if (refusal.kind().equals("NamespaceNotEmpty")) {
        throw new NonEmptyNamespaceException(namespace, refusal.getMessage(), scala.Option.empty());
      }
      throw noSuchNamespace(refusal, namespace);
    }
  }

  @Override
  public Identifier[] listTables(String[] namespace) throws NoSuchNamespaceException {
    try {
      return Arrays.stream(texts(call("list_tables", of(namespace))))
          .map(table -> Identifier.of(namespace, table))
          .toArray(Identifier[]::new);
    } catch (Refusal refusal) {
      throw noSuchNamespace(refusal, namespace);
    }
  }

  /** Lists tables without loading them. Spark's default implementation would load each table. */
  @Override
  public TableSummary[] listTableSummaries(String[] namespace) throws NoSuchNamespaceException {
    return Arrays.stream(listTables(namespace))
        .map(table -> TableSummary.of(table, TableSummary.MANAGED_TABLE_TYPE))
        .toArray(TableSummary[]::new);
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    JsonNode described;
    try {
      described = call("load_table", of(table));
    } catch (Refusal refusal) {
      throw noSuchTable(refusal, table);
    }
    String shown = name + "." + table;
    if (described.has("system")) {
      return new RowsTable(shown, PulsarTable.columns(described.get("schema")), () -> callOrRaise("rows", of(table)));
    }
    return new PulsarTable(shown, described, topicCalls(table, described.path("read_only").asBoolean()));
  }

  private PulsarTable.TopicCalls topicCalls(Identifier table, boolean isSystem) {
    return new PulsarTable.TopicCalls() {
      @Override
      public Map<String, String> properties() {
        return isSystem ? Map.of() : PulsarTable.texts(callOrRaise("table_properties", of(table)));
      }

      @Override
      public JsonNode partitions() {
        return isSystem ? CatalogProcess.tree(List.of()) : callOrRaise("partitions", of(table));
      }

      @Override
      public Map<String, String> partition(int index) {
        return PulsarTable.texts(callOrRaise("load_partition", of(table).put("partition", index)));
      }

      @Override
      public JsonNode tierScan(ObjectNode arguments) {
        try {
          return call("tier_scan", arguments);
        } catch (Refusal refusal) {
          return CatalogProcess.arguments().put("refused", refusal.getMessage());
        }
      }
    };
  }

  /**
   * Loads a table as of a time in microseconds (`TIMESTAMP AS OF`). The table has the messages that were
   * published until this time.
   */
  @Override
  public Table loadTable(Identifier table, long timestamp) throws NoSuchTableException {
    if (loadTable(table) instanceof PulsarTable found) {
      return found.upTo(Math.floorDiv(timestamp, MICROSECONDS));
    }
    throw PulsarException.raised(
        "table " + table + ": expected no TIMESTAMP AS OF, because a system table shows the current state; "
            + "remove TIMESTAMP AS OF");
  }

  @Override
  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    throw PulsarException.raised(
        "table " + table + ": expected TIMESTAMP AS OF, because a topic has no versions, got VERSION AS OF '" + version
            + "'; use the option endingOffsets");
  }

  @Override
  @SuppressWarnings("deprecation")
  public Table createTable(
      Identifier table, StructType schema, Transform[] partitions, Map<String, String> properties)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    ObjectNode arguments = of(table);
    arguments.set("schema", CatalogProcess.parse(schema.json()));
    arguments.set("properties", CatalogProcess.tree(properties));
    arguments.set("partitioning", CatalogProcess.tree(Arrays.stream(partitions).map(Transform::describe).toList()));
    try {
      call("create_table", arguments);
      return loadTable(table);
    } catch (Refusal refusal) {
      if (refusal.kind().equals("TableExists")) {
        throw new TableAlreadyExistsException(table);
      }
      throw noSuchNamespace(refusal, table.namespace());
    } catch (NoSuchTableException gone) {
      throw PulsarException.raised(
          "table " + table + ": expected the created table to exist, but another statement dropped the table ("
              + gone.getMessage() + "); create the table again");
    }
  }

  @Override
  public Table createTable(Identifier table, TableInfo info)
      throws TableAlreadyExistsException, NoSuchNamespaceException {
    if (info.constraints().length > 0) {
      throw PulsarException.raised(
          "table " + table + ": expected no constraints, because Pulsar does not check them; leave them out");
    }
    return createTable(table, info.schema(), info.partitions(), info.properties());
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) throws NoSuchTableException {
    ObjectNode arguments = of(table);
    arguments.set("changes", Changes.ofTable(changes));
    try {
      call("alter_table", arguments);
    } catch (Refusal refusal) {
      throw noSuchTable(refusal, table);
    }
    return loadTable(table);
  }

  @Override
  public boolean dropTable(Identifier table) {
    return callOrRaise("drop_table", of(table)).asBoolean();
  }

  /** Drops the table. A dropped topic is gone immediately. */
  @Override
  public boolean purgeTable(Identifier table) {
    return dropTable(table);
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw PulsarException.raised(
        "table " + from + ": expected no new name, because Pulsar cannot rename a topic; create " + to + " and insert "
            + "into it");
  }

  /** Returns the changes of a table's rows, one change for each message. Spark 4.1 never calls this method. */
  @Override
  public Changelog loadChangelog(Identifier table, ChangelogContext context, CaseInsensitiveStringMap options)
      throws NoSuchTableException {
    try {
      JsonNode described = call("load_changelog", PulsarChangelog.arguments(of(table), context));
      return PulsarChangelog.of(name + "." + table, described);
    } catch (Refusal refusal) {
      throw noSuchTable(refusal, table);
    }
  }

  @Override
  public Identifier[] listProcedures(String[] namespace) {
    return Arrays.stream(texts(callOrRaise("list_procedures", of(namespace))))
        .map(procedure -> Identifier.of(namespace, procedure))
        .toArray(Identifier[]::new);
  }

  @Override
  public UnboundProcedure loadProcedure(Identifier procedure) {
    JsonNode described = callOrRaise("load_procedure", of(procedure.namespace()).put("name", procedure.name()));
    return new PulsarProcedure(described, this::callOrRaise, text -> of(PulsarProcedure.table(this, text)));
  }

  private JsonNode call(String call, ObjectNode arguments) throws Refusal {
    return CatalogProcess.of(name, settings).call(call, arguments);
  }

  /**
   * Calls the process for a method whose interface declares no exception. A refusal is thrown as an
   * AnalysisException.
   */
  private JsonNode callOrRaise(String call, ObjectNode arguments) {
    try {
      return call(call, arguments);
    } catch (Refusal refusal) {
      throw PulsarException.raised(refusal.getMessage());
    }
  }

  private static ObjectNode of(String[] namespace) {
    ObjectNode arguments = CatalogProcess.arguments();
    arguments.set("namespace", CatalogProcess.tree(namespace));
    return arguments;
  }

  private static ObjectNode of(Identifier table) {
    return of(table.namespace()).put("table", table.name());
  }

  private static String[] texts(JsonNode array) {
    String[] texts = new String[array.size()];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = array.get(i).asText();
    }
    return texts;
  }

  private static NoSuchNamespaceException noSuchNamespace(Refusal refusal, String[] namespace) {
    if (refusal.kind().equals("NoSuchNamespace")) {
      return new NoSuchNamespaceException(namespace);
    }
    throw PulsarException.raised(refusal.getMessage());
  }

  private static NoSuchTableException noSuchTable(Refusal refusal, Identifier table) {
    if (refusal.kind().equals("NoSuchTable") || refusal.kind().equals("NoSuchNamespace")) {
      return new NoSuchTableException(table);
    }
    throw PulsarException.raised(refusal.getMessage());
  }
}

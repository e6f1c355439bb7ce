package org.pysparkpulsar.catalog;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.TableChange.AddColumn;
import org.apache.spark.sql.connector.catalog.TableChange.After;
import org.apache.spark.sql.connector.catalog.TableChange.DeleteColumn;
import org.apache.spark.sql.connector.catalog.TableChange.RemoveProperty;
import org.apache.spark.sql.connector.catalog.TableChange.RenameColumn;
import org.apache.spark.sql.connector.catalog.TableChange.SetProperty;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnComment;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnNullability;
import org.apache.spark.sql.connector.catalog.TableChange.UpdateColumnType;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.pysparkpulsar.source.PulsarException;

/** The changes of an ALTER statement, as arguments for the Python process. */
final class Changes {
  private Changes() {}

  static ArrayNode ofTable(TableChange... changes) {
    ArrayNode json = CatalogProcess.arguments().arrayNode();
    for (TableChange change : changes) {
      json.add(one(change));
    }
    return json;
  }

  static ObjectNode ofNamespace(NamespaceChange... changes) {
    ObjectNode json = CatalogProcess.arguments();
    ObjectNode set = json.putObject("set");
    ArrayNode remove = json.putArray("remove");
    for (NamespaceChange change : changes) {
      if (change instanceof NamespaceChange.SetProperty wanted) {
        set.put(wanted.property(), wanted.value());
      } else if (change instanceof NamespaceChange.RemoveProperty unwanted) {
        remove.add(unwanted.property());
      } else {
        throw PulsarException.raised("ALTER NAMESPACE: expected properties to set or to unset, got " + change);
      }
    }
    return json;
  }

  private static ObjectNode one(TableChange change) {
    ObjectNode json = CatalogProcess.arguments();
    if (change instanceof SetProperty wanted) {
      return json.put("change", "set").put("property", wanted.property()).put("value", wanted.value());
    }
    if (change instanceof RemoveProperty unwanted) {
      return json.put("change", "remove").put("property", unwanted.property());
    }
    if (change instanceof AddColumn added && added.defaultValue() == null) {
      return added(json, added);
    }
    if (change instanceof DeleteColumn dropped) {
      return column(json, "drop", dropped.fieldNames()).put("if_exists", dropped.ifExists());
    }
    if (change instanceof UpdateColumnType retyped) {
      column(json, "type", retyped.fieldNames()).set("type", CatalogProcess.parse(retyped.newDataType().json()));
      return json;
    }
    if (change instanceof RenameColumn renamed) {
      return column(json, "rename", renamed.fieldNames()).put("to", renamed.newName());
    }
    if (change instanceof UpdateColumnNullability loosened) {
      return column(json, "nullable", loosened.fieldNames()).put("nullable", loosened.nullable());
    }
    if (change instanceof UpdateColumnComment commented) {
      return column(json, "comment", commented.fieldNames()).put("comment", commented.newComment());
    }
    return json.put("change", "other").put("text", name(change));
  }

  private static ObjectNode added(ObjectNode json, AddColumn change) {
    column(json, "add", change.fieldNames());
    json.set("type", CatalogProcess.parse(change.dataType().json()));
    json.put("nullable", change.isNullable()).put("comment", change.comment());
    if (change.position() instanceof After after) {
      json.set("position", CatalogProcess.tree(Map.of("after", after.column())));
    } else if (change.position() != null) {
      json.put("position", "first");
    } else {
      json.putNull("position");
    }
    return json;
  }

  private static ObjectNode column(ObjectNode json, String change, String[] path) {
    json.put("change", change).set("column", CatalogProcess.tree(path));
    return json;
  }

  private static String name(TableChange change) {
    return change instanceof AddColumn ? "a column with a default value" : change.getClass().getSimpleName();
  }
}

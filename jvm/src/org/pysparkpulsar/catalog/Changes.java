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

/** What ALTER asks for, as the Python process is told. */
final class Changes {
  private Changes() {}

  static ArrayNode ofTable(TableChange... changes) {
    ArrayNode told = CatalogProcess.arguments().arrayNode();
    for (TableChange change : changes) {
      told.add(one(change));
    }
    return told;
  }

  static ObjectNode ofNamespace(NamespaceChange... changes) {
    ObjectNode told = CatalogProcess.arguments();
    ObjectNode set = told.putObject("set");
    ArrayNode remove = told.putArray("remove");
    for (NamespaceChange change : changes) {
      if (change instanceof NamespaceChange.SetProperty wanted) {
        set.put(wanted.property(), wanted.value());
      } else if (change instanceof NamespaceChange.RemoveProperty unwanted) {
        remove.add(unwanted.property());
      } else {
        throw PulsarException.raised("ALTER NAMESPACE: expected properties to set or to unset, got " + change);
      }
    }
    return told;
  }

  private static ObjectNode one(TableChange change) {
    ObjectNode told = CatalogProcess.arguments();
    if (change instanceof SetProperty wanted) {
      return told.put("change", "set").put("property", wanted.property()).put("value", wanted.value());
    }
    if (change instanceof RemoveProperty unwanted) {
      return told.put("change", "remove").put("property", unwanted.property());
    }
    if (change instanceof AddColumn added && added.defaultValue() == null) {
      return added(told, added);
    }
    if (change instanceof DeleteColumn dropped) {
      return column(told, "drop", dropped.fieldNames()).put("if_exists", dropped.ifExists());
    }
    if (change instanceof UpdateColumnType retyped) {
      column(told, "type", retyped.fieldNames()).set("type", CatalogProcess.parse(retyped.newDataType().json()));
      return told;
    }
    if (change instanceof RenameColumn renamed) {
      return column(told, "rename", renamed.fieldNames()).put("to", renamed.newName());
    }
    if (change instanceof UpdateColumnNullability loosened) {
      return column(told, "nullable", loosened.fieldNames()).put("nullable", loosened.nullable());
    }
    if (change instanceof UpdateColumnComment commented) {
      return column(told, "comment", commented.fieldNames()).put("comment", commented.newComment());
    }
    return told.put("change", "other").put("text", name(change));
  }

  private static ObjectNode added(ObjectNode told, AddColumn change) {
    column(told, "add", change.fieldNames());
    told.set("type", CatalogProcess.parse(change.dataType().json()));
    told.put("nullable", change.isNullable()).put("comment", change.comment());
    if (change.position() instanceof After after) {
      told.set("position", CatalogProcess.tree(Map.of("after", after.column())));
    } else if (change.position() != null) {
      told.put("position", "first");
    } else {
      told.putNull("position");
    }
    return told;
  }

  private static ObjectNode column(ObjectNode told, String change, String[] path) {
    told.put("change", change).set("column", CatalogProcess.tree(path));
    return told;
  }

  private static String name(TableChange change) {
    return change instanceof AddColumn ? "a column with a default value" : change.getClass().getSimpleName();
  }
}

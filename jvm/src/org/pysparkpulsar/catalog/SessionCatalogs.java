package org.pysparkpulsar.catalog;

import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.pysparkpulsar.source.PulsarException;

/**
 * A session's catalogs. Their manager is a class in Spark 4.1 and an interface in later versions. Compiled
 * code would work only with one of these versions, so calls use reflection.
 */
final class SessionCatalogs {
  private final Object kept;

  private SessionCatalogs(Object kept) {
    this.kept = kept;
  }

  static SessionCatalogs of(SparkSession session) {
    return new SessionCatalogs(session.sessionState().catalogManager());
  }

  boolean has(String name) {
    return (Boolean) call("isCatalogRegistered", name);
  }

  Object named(String name) {
    return call("catalog", name);
  }

  Object current() {
    return call("currentCatalog");
  }

  String[] currentNamespace() {
    return (String[]) call("currentNamespace");
  }

  private Object call(String method, String... names) {
    try {
      Class<?>[] types = new Class<?>[names.length];
      Arrays.fill(types, String.class);
      return CatalogManager.class.getMethod(method, types).invoke(kept, (Object[]) names);
    } catch (InvocationTargetException fault) {
      throw PulsarException.thrown(fault.getCause());
    } catch (ReflectiveOperationException fault) {
      throw PulsarException.thrown(fault);
    }
  }
}

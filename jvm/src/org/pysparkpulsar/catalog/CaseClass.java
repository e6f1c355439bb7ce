package org.pysparkpulsar.catalog;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import org.pysparkpulsar.source.PulsarException;
import scala.Product;

/**
 * Access to plan nodes by the names of their fields. Some versions of Spark add fields, so the position of a
 * field differs between versions.
 */
final class CaseClass {
  private CaseClass() {}

  /** Returns a copy with another value of one field, like Scala's `copy`. */
  static <T extends Product> T with(T made, String field, Object value) {
    List<Object> fields = new ArrayList<>();
    for (int index = 0; index < made.productArity(); index++) {
      fields.add(index == index(made, field) ? value : made.productElement(index));
    }
    @SuppressWarnings("unchecked")
    Class<T> kind = (Class<T>) made.getClass();
    return of(kind, fields);
  }

  static boolean has(Product made, String field) {
    return index(made, field) >= 0;
  }

  static Object value(Product made, String field) {
    return made.productElement(index(made, field));
  }

  /** Creates a node with all fields that the class has in this version of Spark. */
  static <T> T of(Class<T> kind, List<Object> fields) {
    try {
      for (Constructor<?> constructor : kind.getConstructors()) {
        if (constructor.getParameterCount() == fields.size()) {
          return kind.cast(constructor.newInstance(fields.toArray()));
        }
      }
      throw new NoSuchMethodException(kind.getName() + " with " + fields.size() + " fields");
    } catch (ReflectiveOperationException fault) {
      throw PulsarException.thrown(fault);
    }
  }

  private static int index(Product made, String field) {
    for (int index = 0; index < made.productArity(); index++) {
      if (made.productElementName(index).equals(field)) {
        return index;
      }
    }
    return -1;
  }
}

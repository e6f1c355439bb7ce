package org.pysparkpulsar.source;

import java.lang.reflect.Field;

/**
 * Access to a private value of a Scala class that nested Scala code also uses. In the bytecode, such a value
 * is public and has a longer name.
 */
final class ScalaField {
  private ScalaField() {}

  static Field of(Class<?> owner, String name) throws NoSuchFieldException {
    return owner.getField(owner.getName().replace('.', '$') + "$$" + name);
  }

  @SuppressWarnings("unchecked")
  static <T> T get(Object owner, Class<?> declaring, String name) throws ReflectiveOperationException {
    return (T) of(declaring, name).get(owner);
  }
}

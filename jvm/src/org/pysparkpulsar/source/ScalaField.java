package org.pysparkpulsar.source;

import java.lang.reflect.Field;

/** A private value of a Scala class that code inside of it uses: public in bytecode, under a longer name. */
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

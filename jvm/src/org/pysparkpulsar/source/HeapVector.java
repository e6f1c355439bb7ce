package org.pysparkpulsar.source;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.arrow.memory.ArrowBuf;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.DecimalVector;
import org.apache.arrow.vector.DurationVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.NullVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeNanoVector;
import org.apache.arrow.vector.TimeStampMicroTZVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column of one record batch, copied from Arrow's memory into arrays on the heap.
 *
 * <p>Spark's Python runner overwrites Arrow's memory with the next record batch, and frees it when the task
 * ends. But some readers need the values after that, because they read in separate threads: {@code SELECT
 * TRANSFORM}, {@code RDD.pipe} and threads of a user's function. An array on the heap exists as long as a
 * reader refers to it, so the values of this column never change.
 *
 * <p>{@link #release} drops the arrays when the task ends, because such a thread may wait forever. For
 * example, Spark never ends the process of a {@code TRANSFORM} with a limit, nor the thread that writes to
 * the process. Every read checks that its position is inside the array. So a read after {@link #release} is
 * an error, and never returns a wrong value.
 */
final class HeapVector extends ColumnVector {
  private static final Set<Class<?>> FIXED_WIDTH =
      Set.of(
          BitVector.class, TinyIntVector.class, SmallIntVector.class, IntVector.class, BigIntVector.class,
          Float4Vector.class, Float8Vector.class, DecimalVector.class, DateDayVector.class, TimeNanoVector.class,
          TimeStampMicroVector.class, TimeStampMicroTZVector.class, DurationVector.class);
  private static final Set<Class<?>> VARIABLE_WIDTH = Set.of(VarCharVector.class, VarBinaryVector.class);
  private static final int DECIMAL_BYTES = 16;
  private static final byte[] NO_BYTES = {};
  private static final int[] NO_OFFSETS = {0};
  private static final HeapVector[] NO_CHILDREN = {};

  private final int nulls;
  /** The bits of the rows: 1 for a value, 0 for null. The array is null if no row is null. */
  private final byte[] validity;
  /** The values of a column of numbers, texts or bytes; empty for nested types, and after `release`. */
  private byte[] values;
  /** The beginning of each row's value in `values` or in the child, and the end of the last value. */
  private final int[] offsets;
  private final HeapVector[] children;

  private HeapVector(
      DataType type, int nulls, byte[] validity, byte[] values, int[] offsets, HeapVector[] children) {
    super(type);
    this.nulls = nulls;
    this.validity = validity;
    this.values = values;
    this.offsets = offsets;
    this.children = children;
  }

  /**
   * Copies a column of the Spark type `type`. Both Arrow and Spark store a duration in microseconds. The
   * caller ensures that no other thread frees `vector` at the same time.
   */
  static HeapVector copyOf(DataType type, FieldVector vector) {
    int rows = vector.getValueCount();
    if (vector instanceof NullVector) {
      return new HeapVector(type, rows, new byte[bitmapBytes(rows)], NO_BYTES, NO_OFFSETS, NO_CHILDREN);
    }
    int nulls = vector.getNullCount();
    byte[] validity = nulls == 0 ? null : bytes(vector.getValidityBuffer(), bitmapBytes(rows));
    if (vector instanceof BaseFixedWidthVector fixed && FIXED_WIDTH.contains(vector.getClass())) {
      int length = vector instanceof BitVector ? bitmapBytes(rows) : Math.multiplyExact(rows, fixed.getTypeWidth());
      return new HeapVector(
          type, nulls, validity, bytes(vector.getDataBuffer(), length), NO_OFFSETS, NO_CHILDREN);
    }
    if (vector instanceof BaseVariableWidthVector && VARIABLE_WIDTH.contains(vector.getClass())) {
      int[] offsets = offsets(vector.getOffsetBuffer(), rows);
      byte[] values = bytes(vector.getDataBuffer(), offsets[rows]);
      return new HeapVector(type, nulls, validity, values, offsets, NO_CHILDREN);
    }
    if (vector instanceof ListVector list) {
      HeapVector[] children = children(type, list);
      return new HeapVector(type, nulls, validity, NO_BYTES, offsets(list.getOffsetBuffer(), rows), children);
    }
    if (vector instanceof StructVector struct) {
      HeapVector[] children = structChildren((StructType) type, struct);
      return new HeapVector(type, nulls, validity, NO_BYTES, NO_OFFSETS, children);
    }
    throw new IllegalStateException(
        "the Pulsar data source: expected a column with a type of the query's schema, got " + vector.getField()
            + "; report this as a bug");
  }

  private static HeapVector[] children(DataType type, ListVector list) {
    FieldVector items = list.getDataVector();
    if (list instanceof MapVector) {
      MapType map = (MapType) type;
      List<FieldVector> entry = items.getChildrenFromFields();
      return new HeapVector[] {copyOf(map.keyType(), entry.get(0)), copyOf(map.valueType(), entry.get(1))};
    }
    return new HeapVector[] {copyOf(((ArrayType) type).elementType(), items)};
  }

  private static HeapVector[] structChildren(StructType type, StructVector struct) {
    List<FieldVector> vectors = struct.getChildrenFromFields();
    HeapVector[] children = new HeapVector[vectors.size()];
    for (int index = 0; index < children.length; index++) {
      children[index] = copyOf(type.fields()[index].dataType(), vectors.get(index));
    }
    return children;
  }

  private static int bitmapBytes(int rows) {
    return (rows + 7) >> 3;
  }

  private static byte[] bytes(ArrowBuf buffer, int length) {
    if (length == 0) {
      return NO_BYTES;
    }
    byte[] copy = new byte[length];
    buffer.getBytes(0, copy, 0, length);
    return copy;
  }

  /** Copies offsets. Arrow allows a vector without rows to have no offsets at all. */
  private static int[] offsets(ArrowBuf buffer, int rows) {
    if (rows == 0) {
      return NO_OFFSETS;
    }
    int[] copy = new int[rows + 1];
    buffer.nioBuffer(0, copy.length * Integer.BYTES).order(ByteOrder.nativeOrder()).asIntBuffer().get(copy);
    return copy;
  }

  @Override
  public void close() {
    // Does nothing, because the garbage collector frees the arrays.
  }

  /**
   * Drops the values, so that a reader that never ends uses no memory for them. The task's thread calls this
   * method at the end of the task.
   */
  void release() {
    values = NO_BYTES;
    for (HeapVector child : children) {
      child.release();
    }
  }

  @Override
  public boolean hasNull() {
    return nulls > 0;
  }

  @Override
  public int numNulls() {
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    return validity != null && !bit(validity, row);
  }

  @Override
  public boolean getBoolean(int row) {
    byte[] bits = values;
    check(bits, (row >> 3) + 1);
    return bit(bits, row);
  }

  @Override
  public byte getByte(int row) {
    byte[] bytes = values;
    return Platform.getByte(bytes, at(bytes, row, Byte.BYTES));
  }

  @Override
  public short getShort(int row) {
    byte[] bytes = values;
    return Platform.getShort(bytes, at(bytes, row, Short.BYTES));
  }

  @Override
  public int getInt(int row) {
    byte[] bytes = values;
    return Platform.getInt(bytes, at(bytes, row, Integer.BYTES));
  }

  @Override
  public long getLong(int row) {
    byte[] bytes = values;
    return Platform.getLong(bytes, at(bytes, row, Long.BYTES));
  }

  @Override
  public float getFloat(int row) {
    byte[] bytes = values;
    return Platform.getFloat(bytes, at(bytes, row, Float.BYTES));
  }

  @Override
  public double getDouble(int row) {
    byte[] bytes = values;
    return Platform.getDouble(bytes, at(bytes, row, Double.BYTES));
  }

  /**
   * Returns a decimal. Arrow stores it as 16 bytes in two's complement, lowest byte first; 18 digits fit into
   * the lower 8.
   */
  @Override
  public Decimal getDecimal(int row, int precision, int scale) {
    if (isNullAt(row)) {
      return null;
    }
    byte[] bytes = values;
    long at = at(bytes, row, DECIMAL_BYTES);
    if (precision <= Decimal.MAX_LONG_DIGITS()) {
      return Decimal.createUnsafe(Platform.getLong(bytes, at), precision, scale);
    }
    byte[] highestFirst = new byte[DECIMAL_BYTES];
    for (int index = 0; index < DECIMAL_BYTES; index++) {
      highestFirst[index] = Platform.getByte(bytes, at + DECIMAL_BYTES - 1 - index);
    }
    return Decimal.apply(new BigDecimal(new BigInteger(highestFirst), scale), precision, scale);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (isNullAt(row)) {
      return null;
    }
    byte[] bytes = values;
    int start = offsets[row];
    int end = offsets[row + 1];
    check(bytes, end);
    return UTF8String.fromBytes(bytes, start, end - start);
  }

  @Override
  public byte[] getBinary(int row) {
    if (isNullAt(row)) {
      return null;
    }
    byte[] bytes = values;
    int end = offsets[row + 1];
    check(bytes, end);
    return Arrays.copyOfRange(bytes, offsets[row], end);
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = offsets[row];
    return new ColumnarArray(children[0], start, offsets[row + 1] - start);
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (isNullAt(row)) {
      return null;
    }
    int start = offsets[row];
    return new ColumnarMap(children[0], children[1], start, offsets[row + 1] - start);
  }

  @Override
  public ColumnVector getChild(int ordinal) {
    return children[ordinal];
  }

  private static long at(byte[] bytes, int row, int width) {
    check(bytes, (row + 1) * width);
    return Platform.BYTE_ARRAY_OFFSET + (long) row * width;
  }

  private static void check(byte[] bytes, int end) {
    if (end > bytes.length) {
      throw ColumnarReader.taskHasEnded();
    }
  }

  private static boolean bit(byte[] bits, int row) {
    return (bits[row >> 3] >> (row & 7) & 1) == 1;
  }
}

package org.pysparkpulsar.source;

import java.util.List;
import java.util.Set;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.BitVector;
import org.apache.arrow.vector.DateDayVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.Float4Vector;
import org.apache.arrow.vector.Float8Vector;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.SmallIntVector;
import org.apache.arrow.vector.TimeStampMicroTZVector;
import org.apache.arrow.vector.TimeStampMicroVector;
import org.apache.arrow.vector.TinyIntVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.VarBinaryVector;
import org.apache.arrow.vector.VarCharVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A column whose memory is its reader's: Spark closes the columns of a batch when it has read it, the reader goes on.
 *
 * <p>Spark's own class asks Arrow for each value, which checks each time that the memory is not freed and that the row is
 * inside of it; that is a fifth of the time of a query that adds columns up. Here the addresses of Arrow's buffers are
 * looked up once for a batch. They are good until the reader fills the vectors anew, and rows are those of the batch, as
 * Spark promises. Types that are not listed here are read by Spark's class.
 */
final class BorrowedVector extends ArrowColumnVector {
  private static final Set<Class<?>> FIXED_WIDTH =
      Set.of(
          BitVector.class, TinyIntVector.class, SmallIntVector.class, IntVector.class, BigIntVector.class,
          Float4Vector.class, Float8Vector.class, DateDayVector.class, TimeStampMicroVector.class,
          TimeStampMicroTZVector.class);
  private static final Set<Class<?>> VARIABLE_WIDTH = Set.of(VarCharVector.class, VarBinaryVector.class);
  private static final Set<Class<?>> LISTS = Set.of(ListVector.class, MapVector.class);
  private static final BorrowedVector[] NONE = {};

  private final boolean nulls;
  /** A bit for each row, 1 for a value; 0 where Spark's class answers. */
  private final long validity;
  /** The values; 0 where Spark's class reads them. */
  private final long data;
  /** Where each row begins and the last one ends, 4 bytes each; 0 for a type without. */
  private final long offsets;
  private final BorrowedVector[] children;

  BorrowedVector(ValueVector vector) {
    super(vector);
    Class<?> kind = vector.getClass();
    boolean variable = VARIABLE_WIDTH.contains(kind);
    boolean list = LISTS.contains(kind);
    boolean values = variable || FIXED_WIDTH.contains(kind);
    nulls = vector.getNullCount() > 0;
    boolean known = values || list || kind == StructVector.class;
    validity = nulls && known ? vector.getValidityBuffer().memoryAddress() : 0;
    data = values ? vector.getDataBuffer().memoryAddress() : 0;
    offsets = variable || list ? vector.getOffsetBuffer().memoryAddress() : 0;
    children = known && !values ? borrowed(((FieldVector) vector).getChildrenFromFields()) : NONE;
  }

  private static BorrowedVector[] borrowed(List<FieldVector> vectors) {
    return vectors.stream().map(BorrowedVector::new).toArray(BorrowedVector[]::new);
  }

  @Override
  public void close() {
    // The reader closes all when the task ends.
  }

  @Override
  public void closeIfFreeable() {
    // As above.
  }

  @Override
  public boolean hasNull() {
    return nulls;
  }

  @Override
  public boolean isNullAt(int row) {
    if (!nulls) {
      return false;
    }
    return validity == 0 ? super.isNullAt(row) : !bit(validity, row);
  }

  @Override
  public boolean getBoolean(int row) {
    return data == 0 ? super.getBoolean(row) : bit(data, row);
  }

  @Override
  public byte getByte(int row) {
    return data == 0 ? super.getByte(row) : Platform.getByte(null, data + row);
  }

  @Override
  public short getShort(int row) {
    return data == 0 ? super.getShort(row) : Platform.getShort(null, data + 2L * row);
  }

  @Override
  public int getInt(int row) {
    return data == 0 ? super.getInt(row) : Platform.getInt(null, data + 4L * row);
  }

  @Override
  public long getLong(int row) {
    return data == 0 ? super.getLong(row) : Platform.getLong(null, data + 8L * row);
  }

  @Override
  public float getFloat(int row) {
    return data == 0 ? super.getFloat(row) : Platform.getFloat(null, data + 4L * row);
  }

  @Override
  public double getDouble(int row) {
    return data == 0 ? super.getDouble(row) : Platform.getDouble(null, data + 8L * row);
  }

  @Override
  public UTF8String getUTF8String(int row) {
    if (data == 0 || offsets == 0) {
      return super.getUTF8String(row);
    }
    int start = start(row);
    return isNullAt(row) ? null : UTF8String.fromAddress(null, data + start, start(row + 1) - start);
  }

  @Override
  public byte[] getBinary(int row) {
    if (data == 0 || offsets == 0) {
      return super.getBinary(row);
    }
    if (isNullAt(row)) {
      return null;
    }
    int start = start(row);
    byte[] bytes = new byte[start(row + 1) - start];
    Platform.copyMemory(null, data + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
    return bytes;
  }

  @Override
  public ColumnarArray getArray(int row) {
    if (offsets == 0) {
      return super.getArray(row);
    }
    if (isNullAt(row)) {
      return null;
    }
    int start = start(row);
    return new ColumnarArray(children[0], start, start(row + 1) - start);
  }

  @Override
  public ColumnarMap getMap(int row) {
    if (offsets == 0) {
      return super.getMap(row);
    }
    if (isNullAt(row)) {
      return null;
    }
    int start = start(row);
    BorrowedVector entries = children[0];
    return new ColumnarMap(entries.children[0], entries.children[1], start, start(row + 1) - start);
  }

  @Override
  public ArrowColumnVector getChild(int ordinal) {
    return children.length == 0 ? super.getChild(ordinal) : children[ordinal];
  }

  private int start(int row) {
    return Platform.getInt(null, offsets + 4L * row);
  }

  private static boolean bit(long bits, int row) {
    return (Platform.getByte(null, bits + (row >> 3)) >> (row & 7) & 1) == 1;
  }
}

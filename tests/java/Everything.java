import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.EnumDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Label;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.Type;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.GeneratedMessageV3;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import com.google.protobuf.TimestampProto;
import com.google.protobuf.WrappersProto;
import java.util.stream.Stream;

/**
 * What protoc would generate for a proto3 message with a field of every kind, as far as Pulsar's schemas use it.
 * Written by hand around a DynamicMessage, so that neither protoc nor thousands of generated lines are needed.
 */
public final class Everything extends GeneratedMessageV3 {
    private static final Descriptor DESCRIPTOR = describe();
    private static final Everything DEFAULT = new Everything(DynamicMessage.getDefaultInstance(DESCRIPTOR));

    final DynamicMessage inner;

    Everything(DynamicMessage inner) {
        this.inner = inner;
    }

    public static Descriptor getDescriptor() {
        return DESCRIPTOR;
    }

    public static Everything getDefaultInstance() {
        return DEFAULT;
    }

    private static Descriptor describe() {
        DescriptorProto.Builder message = DescriptorProto.newBuilder().setName("Everything")
                .addNestedType(DescriptorProto.newBuilder().setName("Inner")
                        .addField(field("x", 1, Type.TYPE_INT32)).addField(field("y", 2, Type.TYPE_STRING)))
                .addNestedType(entry("CountsEntry", field("key", 1, Type.TYPE_STRING), field("value", 2, Type.TYPE_INT64)))
                .addNestedType(entry("ByNumberEntry", field("key", 1, Type.TYPE_INT32), typed("value", 2, ".org.example.Everything.Inner")))
                .addField(field("twice", 1, Type.TYPE_DOUBLE))
                .addField(field("single", 2, Type.TYPE_FLOAT))
                .addField(field("i32", 3, Type.TYPE_INT32))
                .addField(field("i64", 4, Type.TYPE_INT64))
                .addField(field("u32", 5, Type.TYPE_UINT32))
                .addField(field("u64", 6, Type.TYPE_UINT64))
                .addField(field("s32", 7, Type.TYPE_SINT32))
                .addField(field("s64", 8, Type.TYPE_SINT64))
                .addField(field("f32", 9, Type.TYPE_FIXED32))
                .addField(field("f64", 10, Type.TYPE_FIXED64))
                .addField(field("sf32", 11, Type.TYPE_SFIXED32))
                .addField(field("sf64", 12, Type.TYPE_SFIXED64))
                .addField(field("flag", 13, Type.TYPE_BOOL))
                .addField(field("words", 14, Type.TYPE_STRING))
                .addField(field("data", 15, Type.TYPE_BYTES))
                .addField(typed("colour", 16, ".org.example.Colour").setType(Type.TYPE_ENUM))
                .addField(typed("part", 17, ".org.example.Everything.Inner"))
                .addField(many(field("numbers", 18, Type.TYPE_SINT64)))
                .addField(many(field("names", 19, Type.TYPE_STRING)))
                .addField(many(typed("rows", 20, ".org.example.Everything.Inner")))
                .addField(many(typed("counts", 21, ".org.example.Everything.CountsEntry")))
                .addField(many(typed("by_number", 22, ".org.example.Everything.ByNumberEntry")))
                .addField(field("maybe", 23, Type.TYPE_STRING).setProto3Optional(true).setOneofIndex(1))
                .addField(field("text", 24, Type.TYPE_STRING).setOneofIndex(0))
                .addField(field("number", 25, Type.TYPE_INT32).setOneofIndex(0))
                .addField(typed("at", 26, ".google.protobuf.Timestamp"))
                .addField(typed("note", 27, ".google.protobuf.StringValue"));
        message.addOneofDeclBuilder().setName("choice");
        message.addOneofDeclBuilder().setName("_maybe");
        FileDescriptorProto file = FileDescriptorProto.newBuilder()
                .setName("everything.proto").setPackage("org.example").setSyntax("proto3")
                .addDependency("google/protobuf/timestamp.proto").addDependency("google/protobuf/wrappers.proto")
                .setOptions(com.google.protobuf.DescriptorProtos.FileOptions.newBuilder().setJavaMultipleFiles(true))
                .addEnumType(colours()).addMessageType(message).build();
        try {
            FileDescriptor[] imports = {TimestampProto.getDescriptor(), WrappersProto.getDescriptor()};
            return FileDescriptor.buildFrom(file, imports).findMessageTypeByName("Everything");
        } catch (com.google.protobuf.Descriptors.DescriptorValidationException error) {
            throw new IllegalStateException(error);
        }
    }

    private static EnumDescriptorProto colours() {
        EnumDescriptorProto.Builder colour = EnumDescriptorProto.newBuilder().setName("Colour");
        Stream.of("NONE", "RED", "GREEN").forEach(
                name -> colour.addValueBuilder().setName(name).setNumber(colour.getValueCount() - 1));
        return colour.build();
    }

    private static FieldDescriptorProto.Builder field(String name, int number, Type type) {
        return FieldDescriptorProto.newBuilder()
                .setName(name).setNumber(number).setType(type).setLabel(Label.LABEL_OPTIONAL);
    }

    private static FieldDescriptorProto.Builder typed(String name, int number, String type) {
        return field(name, number, Type.TYPE_MESSAGE).setTypeName(type);
    }

    private static FieldDescriptorProto.Builder many(FieldDescriptorProto.Builder field) {
        return field.setLabel(Label.LABEL_REPEATED);
    }

    private static DescriptorProto entry(
            String name, FieldDescriptorProto.Builder key, FieldDescriptorProto.Builder value) {
        DescriptorProto.Builder found = DescriptorProto.newBuilder().setName(name).addField(key).addField(value);
        found.getOptionsBuilder().setMapEntry(true);
        return found.build();
    }

    @Override
    public Descriptor getDescriptorForType() {
        return DESCRIPTOR;
    }

    @Override
    public byte[] toByteArray() {
        return inner.toByteArray();
    }

    @Override
    public ByteString toByteString() {
        return inner.toByteString();
    }

    @Override
    public Parser<Everything> getParserForType() {
        return new com.google.protobuf.AbstractParser<>() {
            @Override
            public Everything parsePartialFrom(
                    com.google.protobuf.CodedInputStream input, com.google.protobuf.ExtensionRegistryLite registry)
                    throws InvalidProtocolBufferException {
                try {
                    return new Everything(DynamicMessage.newBuilder(DESCRIPTOR).mergeFrom(input).buildPartial());
                } catch (InvalidProtocolBufferException error) {
                    throw error;
                } catch (java.io.IOException error) {
                    throw new InvalidProtocolBufferException(error);
                }
            }
        };
    }

    @Override
    public boolean isInitialized() {
        return true;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Everything that && inner.equals(that.inner);
    }

    @Override
    public int hashCode() {
        return inner.hashCode();
    }

    @Override
    protected FieldAccessorTable internalGetFieldAccessorTable() {
        throw new UnsupportedOperationException("DynamicMessage does this");
    }

    @Override
    protected Message.Builder newBuilderForType(BuilderParent parent) {
        throw new UnsupportedOperationException("DynamicMessage does this");
    }

    @Override
    public Message.Builder newBuilderForType() {
        return inner.newBuilderForType();
    }

    @Override
    public Message.Builder toBuilder() {
        return inner.toBuilder();
    }

    @Override
    public Message getDefaultInstanceForType() {
        return DEFAULT;
    }
}

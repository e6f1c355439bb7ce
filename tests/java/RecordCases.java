import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.avro.generic.GenericRecord;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.schema.Field;
import org.apache.pulsar.client.impl.schema.SchemaInfoImpl;
import org.apache.pulsar.client.impl.schema.generic.GenericAvroRecord;
import org.apache.pulsar.client.impl.schema.generic.GenericJsonRecord;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.apache.pulsar.common.schema.SchemaType;

/** AVRO and JSON topics: a case for each document of `Documents`, through the client's generic schemas. */
final class RecordCases {
    private static final int EDGES = 4;
    private static final long EDGE_SEED = 7;

    private RecordCases() {}

    static List<Case> all() {
        List<Case> found = new ArrayList<>();
        Documents.all().forEach((name, document) -> found.add(avro("AVRO " + name, document)));
        Documents.all().forEach((name, document) -> found.add(json("JSON " + name, document)));
        return found;
    }

    static Case avro(String name, org.apache.avro.Schema document) {
        Schema<org.apache.pulsar.client.api.schema.GenericRecord> schema =
                Schema.generic(info(document, SchemaType.AVRO));
        List<org.apache.pulsar.client.api.schema.GenericRecord> edges = new ArrayList<>();
        Random source = new Random(EDGE_SEED);
        for (int i = 0; i < EDGES; i++) {
            edges.add(avroRecord(document, AvroValues.record(document, source)));
        }
        return Case.of(
                name,
                schema,
                edges,
                random -> avroRecord(document, AvroValues.record(document, random)),
                value -> AvroValues.neutral(document, value.getNativeObject()));
    }

    static Case json(String name, org.apache.avro.Schema document) {
        SchemaInfo info = info(document, SchemaType.JSON);
        Schema<org.apache.pulsar.client.api.schema.GenericRecord> schema = Schema.generic(info);
        List<org.apache.pulsar.client.api.schema.GenericRecord> edges = new ArrayList<>();
        Random source = new Random(EDGE_SEED);
        for (int i = 0; i < EDGES; i++) {
            edges.add(jsonRecord(document, AvroValues.record(document, source), info));
        }
        return Case.of(
                name,
                schema,
                edges,
                random -> jsonRecord(document, AvroValues.record(document, random), info),
                value -> JsonValues.neutral(document, ((GenericJsonRecord) value).getJsonNode()));
    }

    static SchemaInfo info(org.apache.avro.Schema document, SchemaType type) {
        return SchemaInfoImpl.builder()
                .name(document.getName())
                .type(type)
                .schema(AvroValues.utf8(document))
                .properties(Map.of("__alwaysAllowNull", "true", "__jsr310ConversionEnabled", "false"))
                .build();
    }

    private static GenericAvroRecord avroRecord(org.apache.avro.Schema document, GenericRecord record) {
        return new GenericAvroRecord(null, document, fields(document), record);
    }

    private static GenericJsonRecord jsonRecord(
            org.apache.avro.Schema document, GenericRecord record, SchemaInfo info) {
        JsonNode node = JsonValues.node(document, record);
        return new GenericJsonRecord(null, fields(document), node, info);
    }

    private static List<Field> fields(org.apache.avro.Schema document) {
        return document.getFields().stream().map(each -> new Field(each.name(), each.pos())).toList();
    }
}

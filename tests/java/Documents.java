import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.avro.Schema;

/** The Avro documents of the AVRO and JSON cases. Each shows one thing, so that a failure names it. */
final class Documents {
    private Documents() {}

    static Map<String, Schema> all() {
        Map<String, Schema> found = new LinkedHashMap<>();
        found.put("scalars", scalars());
        found.put("logical", logical());
        found.put("nested", nested());
        found.put("unions", unions());
        return found;
    }

    /** Every type without parts, as it is and nullable. */
    private static Schema scalars() {
        return record(
                "Scalars",
                both("flag", "'boolean'"),
                both("small", "'int'"),
                both("large", "'long'"),
                both("single", "'float'"),
                both("twice", "'double'"),
                both("words", "'string'"),
                both("data", "'bytes'"),
                field("colour", "{'type':'enum','name':'Colour','symbols':['RED','GREEN_1']}"),
                field("maybe_colour", "['null','Colour']"),
                field("hash", "{'type':'fixed','name':'Hash','size':4}"),
                field("maybe_hash", "['Hash','null']"));
    }

    private static Schema logical() {
        return record(
                "Logical",
                both("amount", "{'type':'bytes','logicalType':'decimal','precision':20,'scale':4}"),
                field("total", "{'type':'fixed','name':'Total','size':16,'logicalType':'decimal','precision':38,'scale':10}"),
                both("day", "{'type':'int','logicalType':'date'}"),
                both("clock", "{'type':'int','logicalType':'time-millis'}"),
                both("fine_clock", "{'type':'long','logicalType':'time-micros'}"),
                both("at", "{'type':'long','logicalType':'timestamp-millis'}"),
                both("fine_at", "{'type':'long','logicalType':'timestamp-micros'}"),
                both("there", "{'type':'long','logicalType':'local-timestamp-millis'}"),
                both("fine_there", "{'type':'long','logicalType':'local-timestamp-micros'}"),
                both("id", "{'type':'string','logicalType':'uuid'}"));
    }

    private static Schema nested() {
        return record(
                "Nested",
                field("inner", "{'type':'record','name':'Inner','fields':[" + field("x", "'int'") + ","
                        + field("y", "['null','string']") + "]}"),
                field("maybe_inner", "['null','Inner']"),
                field("numbers", "{'type':'array','items':'long'}"),
                field("names", "{'type':'array','items':['null','string']}"),
                field("rows", "{'type':'array','items':'Inner'}"),
                field("grid", "{'type':'array','items':{'type':'array','items':'int'}}"),
                field("counts", "{'type':'map','values':'long'}"),
                field("by_name", "{'type':'map','values':['null','Inner']}"),
                field("maybe_numbers", "['null',{'type':'array','items':'int'}]"));
    }

    private static Schema unions() {
        return record(
                "Unions",
                field("number_or_text", "['int','string']"),
                field("maybe_either", "['null','boolean','string']"),
                field("null_between", "['long','null','string']"),
                field("only", "['int']"),
                field("shape", "['null',{'type':'record','name':'Circle','fields':[" + field("radius", "'double'")
                        + "]},{'type':'array','items':'int'}]"),
                field("list", "{'type':'array','items':['null','int','string']}"));
    }

    private static Schema record(String name, String... fields) {
        String document = "{'type':'record','name':'" + name + "','namespace':'org.example','fields':["
                + String.join(",", fields) + "]}";
        return new Schema.Parser().parse(document.replace('\'', '"'));
    }

    private static String both(String name, String type) {
        return field(name, type) + "," + field("maybe_" + name, "['null'," + type + "]");
    }

    private static String field(String name, String type) {
        return "{'name':'" + name + "','type':" + type + "}";
    }
}

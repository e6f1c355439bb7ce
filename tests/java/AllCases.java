import java.util.ArrayList;
import java.util.List;

/** Every type that Pulsar's registry has, by the names that the tests use. */
final class AllCases {
    private AllCases() {}

    static List<Case> all() {
        List<Case> found = new ArrayList<>(PrimitiveCases.all());
        found.addAll(RecordCases.all());
        found.addAll(PojoCases.all());
        found.addAll(ProtobufCases.all());
        found.addAll(KeyValueCases.all(List.copyOf(found)));
        found.addAll(JavaTypeCases.all());
        return found;
    }

    static Case named(String name) {
        return all().stream().filter(each -> each.name().equals(name)).findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no case " + name));
    }
}

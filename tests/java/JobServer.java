import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import org.slf4j.LoggerFactory;

/**
 * Runs programs one after the other in one JVM, since a JVM takes seconds to start and to warm up.
 * A line of standard input is {@code {"program": class, "arguments": [...], "text": its standard input}}; the line of
 * standard output that answers it is {@code {"printed": its standard output}}, with {@code "failed"} if it threw. Ends
 * with its input.
 */
public final class JobServer {
    private static final ObjectMapper JSON = new ObjectMapper();

    private JobServer() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        // What Log4j says of its missing configuration goes to the standard output of the moment when it is started.
        System.setOut(System.err);
        LoggerFactory.getLogger(JobServer.class);
        BufferedReader jobs = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = jobs.readLine(); line != null; line = jobs.readLine()) {
            answers.println(JSON.writeValueAsString(run(JSON.readTree(line))));
        }
        System.exit(0);
    }

    private static ObjectNode run(JsonNode job) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setIn(new ByteArrayInputStream(job.get("text").asText().getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        String[] arguments = JSON.treeToValue(job.get("arguments"), String[].class);
        try {
            Class.forName(job.get("program").asText()).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failed) {
            StringWriter trace = new StringWriter();
            failed.getCause().printStackTrace(new PrintWriter(trace, true));
            answer.put("failed", trace.toString());
        }
        return answer.put("printed", printed.toString(StandardCharsets.UTF_8));
    }
}

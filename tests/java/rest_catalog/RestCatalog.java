import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's own REST catalog, as its tests have it: {@code RestCatalog PORT FOLDER}, on the loopback interface. */
public final class RestCatalog {
    private RestCatalog() {}

    public static void main(String[] arguments) throws Exception {
        String folder = arguments[1];
        var properties = Map.of(
            "uri", "jdbc:sqlite:" + folder + "/catalog.db",
            "warehouse", "file://" + folder + "/warehouse",
            "jdbc.schema-version", "V1",
            "io-impl", "org.apache.iceberg.hadoop.HadoopFileIO");
        var catalog = CatalogUtil.loadCatalog(
            "org.apache.iceberg.jdbc.JdbcCatalog", "catalog", properties, new Configuration());
        var handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
        handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
        var server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
        server.setHandler(handler);
        server.start();
        server.join();
    }
}

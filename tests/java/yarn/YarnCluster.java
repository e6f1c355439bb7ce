import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A resource manager and a node manager of YARN on this machine, on free ports. */
final class YarnCluster {
  private static final int CONNECT_MILLISECONDS = 60_000;

  private YarnCluster() {}

  /** Arguments: a folder for what the servers write, and the yarn-site.xml that is there once they serve. */
  public static void main(String[] arguments) {
    try {
      start(Path.of(arguments[0]), Path.of(arguments[1]));
    } catch (Exception | LinkageError fault) {
      // Threads of the servers would keep this process.
      fault.printStackTrace();
      System.exit(1);
    }
  }

  private static void start(Path folder, Path site) throws Exception {
    System.setProperty("test.build.data", folder.toString());
    MiniYARNCluster cluster = new MiniYARNCluster("yarn", 1, 1, 1);
    cluster.init(settings(folder));
    cluster.start();
    if (!cluster.waitForNodeManagersToConnect(CONNECT_MILLISECONDS)) {
      throw new IllegalStateException("the node manager does not reach the resource manager");
    }
    Path written = site.resolveSibling("written.xml");
    try (OutputStream out = Files.newOutputStream(written)) {
      cluster.getConfig().writeXml(out);
    }
    Files.move(written, site, StandardCopyOption.ATOMIC_MOVE);
  }

  private static YarnConfiguration settings(Path folder) {
    YarnConfiguration settings = new YarnConfiguration();
    settings.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    settings.set(YarnConfiguration.RM_HOSTNAME, "127.0.0.1");
    settings.setInt(YarnConfiguration.NM_PMEM_MB, 4096);
    settings.setInt(YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB, 128);
    settings.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    // It takes a disk that is nine tenths full for a broken one.
    settings.setBoolean("yarn.nodemanager.disk-health-checker.enable", false);
    settings.set("yarn.scheduler.capacity.root.queues", "default");
    settings.set("yarn.scheduler.capacity.root.default.capacity", "100");
    settings.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
    return settings;
  }
}

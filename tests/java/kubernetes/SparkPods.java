import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext$;
import org.apache.spark.deploy.SparkSubmit;
import org.apache.spark.deploy.SparkSubmitArguments;
import org.apache.spark.deploy.k8s.KubernetesConf;
import org.apache.spark.deploy.k8s.KubernetesDriverSpec;
import org.apache.spark.deploy.k8s.SparkPod;
import org.apache.spark.deploy.k8s.submit.ClientArguments;
import org.apache.spark.deploy.k8s.submit.KubernetesClientUtils;
import org.apache.spark.deploy.k8s.submit.KubernetesDriverBuilder;
import org.apache.spark.internal.config.package$;
import org.apache.spark.resource.ResourceProfile$;
import org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBuilder;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What Spark asks a Kubernetes for, made by Spark itself without one. */
final class SparkPods {
  private static final String APPLICATION = "spark-0123456789abcdef";
  private static final String EXECUTORS_TEMPLATE = "spark.kubernetes.executor.podTemplateFile";

  private SparkPods() {}

  /**
   * Takes the arguments of spark-submit. Prints JSON: the pods `driver`, in cluster deploy mode, and `executor`, the
   * driver's `resources`, and its `properties`, the text of the file that Spark mounts.
   */
  public static void main(String[] arguments) throws Exception {
    Seq<String> given = CollectionConverters.asScala(List.of(arguments)).toSeq();
    var submitted = new SparkSubmitArguments(given, scala.collection.immutable.Map$.MODULE$.empty());
    var prepared = new SparkSubmit().prepareSubmitEnvironment(submitted, Option.empty());
    SparkConf conf = prepared._3();
    Map<String, Object> made = new LinkedHashMap<>();
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(Config.empty()).build()) {
      if (submitted.deployMode().equals("cluster")) {
        KubernetesDriverSpec driver = driver(conf, CollectionConverters.asJava(prepared._1()), client);
        Map<String, String> properties = driver.getSystemPropertiesAsJavaMap();
        made.put("driver", whole(driver.pod()));
        List<HasMetadata> resources = new ArrayList<>(driver.getDriverPreKubernetesResourcesAsJavaList());
        resources.addAll(driver.getDriverKubernetesResourcesAsJavaList());
        made.put("resources", resources);
        made.putAll(KubernetesClientUtils.buildSparkConfDirFilesMapJava("driver", conf, properties));
        Option<String> template = conf.getOption(EXECUTORS_TEMPLATE);
        properties.forEach(conf::set);
        // Spark has put the path that the template has in the driver's container.
        template.foreach(path -> conf.set(EXECUTORS_TEMPLATE, path));
      }
      // What a driver does to its settings before it asks for executors.
      SparkContext$.MODULE$.org$apache$spark$SparkContext$$supplementJavaModuleOptions(conf);
      made.put("executor", whole(executor(conf, client)));
    }
    System.out.println(Serialization.asJson(made));
  }

  private static KubernetesDriverSpec driver(SparkConf conf, List<String> arguments, KubernetesClient client) {
    ClientArguments parsed = ClientArguments.fromCommandLineArgs(arguments.toArray(String[]::new));
    Option<String> nobody = Option.empty();
    return new KubernetesDriverBuilder()
        .buildFromFeatures(
            KubernetesConf.createDriverConf(
                conf, APPLICATION, parsed.mainAppResource(), parsed.mainClass(), parsed.driverArgs(), nobody),
            client);
  }

  private static SparkPod executor(SparkConf conf, KubernetesClient client) {
    return new KubernetesExecutorBuilder()
        .buildFromFeatures(
            KubernetesConf.createExecutorConf(conf, "1", APPLICATION, Option.empty(), 0),
            new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE_EXECUTOR()),
            client,
            ResourceProfile$.MODULE$.getOrCreateDefaultProfile(conf))
        .pod();
  }

  private static Pod whole(SparkPod pod) {
    return new PodBuilder(pod.pod()).editOrNewSpec().addToContainers(pod.container()).endSpec().build();
  }
}

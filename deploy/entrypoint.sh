#!/bin/bash
# Entry point of the container. Spark on Kubernetes runs it with `driver` or `executor`; other arguments are a command.
set -euo pipefail

case "${1-}" in
  driver)
    shift
    exec "$SPARK_HOME/bin/spark-submit" --deploy-mode client \
      --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
  executor)
    # Spark numbers the options of this JVM: SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1 and so on.
    options=()
    while name="SPARK_JAVA_OPT_${#options[@]}" && [ -n "${!name+set}" ]; do
      options+=("${!name}")
    done
    exec java "${options[@]}" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "$SPARK_CONF_DIR:${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" --podName "$SPARK_EXECUTOR_POD_NAME" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID"
    ;;
  *)
    exec "$@"
    ;;
esac

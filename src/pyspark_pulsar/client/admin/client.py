"""The client of the admin REST API. The client has one connection pool, and an attribute for each subject.

The subjects have the names of Pulsar's own `PulsarAdmin`:

    with AdminClient(options) as admin:
        admin.topics.create(topic, partitions=3)
        admin.schemas.latest(topic)
"""

from __future__ import annotations

from pyspark_pulsar.client.admin.cluster_parts import Bookies, Brokers, Clusters, Tenants
from pyspark_pulsar.client.admin.namespaces import Namespaces
from pyspark_pulsar.client.admin.policies import Policies
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.client.admin.schemas import Schemas
from pyspark_pulsar.client.admin.topic_operations import TopicOperations
from pyspark_pulsar.client.admin.topics import Topics
from pyspark_pulsar.options import ConnectionOptions


class AdminClient(RestClient):
    """A client of the admin REST API, for the driver and executors.

    Instances are safe to use from several threads. Close an instance, or use an instance as a context manager. Each
    method of a subject raises the errors of `RestClient`, and the errors that the method's docstring lists.
    """

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None, threads: int = 8) -> None:
        """Create the subjects with one common connection pool. `RestClient` describes the arguments."""
        super().__init__(options, patience_ms, threads)
        self.bookies = Bookies(self)
        self.brokers = Brokers(self)
        self.clusters = Clusters(self)
        self.namespaces = Namespaces(self)
        self.policies = Policies(self)
        self.schemas = Schemas(self)
        self.tenants = Tenants(self)
        self.operations = TopicOperations(self)
        self.topics = Topics(self)

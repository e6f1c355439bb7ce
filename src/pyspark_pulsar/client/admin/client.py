"""The client of the admin REST API: one connection pool, and an attribute with the requests of each subject.

The subjects are the same as in Pulsar's own `PulsarAdmin`:

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

    Instances are safe to use from several threads. Close them, or use them as context managers. All methods of all
    subjects raise the errors of `RestClient`, and the errors in their own docstrings.
    """

    def __init__(self, options: ConnectionOptions, patience_ms: int | None = None, threads: int = 8) -> None:
        """Create the subjects over one connection pool. The arguments are the same as for `RestClient`."""
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

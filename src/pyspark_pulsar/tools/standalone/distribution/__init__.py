"""Available server versions, and fetching them into the cache, checked against pinned checksums.

Maven Central has Pulsar's distribution for some versions. Other versions are assembled from the broker's libraries,
with the start script and the configuration files of a distribution.
"""

"""The available server versions, and their download into the cache. Pinned checksums verify each download.

Maven Central has Pulsar's distribution for some versions. Other versions are assembled from the broker's libraries,
with the start script and the configuration files of a distribution.
"""

"""Server versions that can be had, and how each comes into the cache, checked against what is pinned here.

Where Maven Central has Pulsar's distribution, that is unpacked. Other versions are put together from the broker's
libraries, with the start script and the configuration files of a distribution.
"""

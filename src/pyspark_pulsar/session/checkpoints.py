"""Session settings for checkpoints in Pulsar.

Some settings of Spark apply to every checkpoint of a session, in any file system. One of these settings is the class of
the file manager. This package's file manager passes paths of other schemes to Spark's own file manager. The format of
state and Spark's checksum files cannot depend on the file system. So the settings for these two are added only if the
caller requests them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark_pulsar.errors import OptionError

FILE_SYSTEM_CLASS: Final = "org.pysparkpulsar.checkpoint.CheckpointFileSystem"
FILE_MANAGER_CLASS: Final = "org.pysparkpulsar.checkpoint.PulsarCheckpointFileManager"

_FILE_SYSTEM: Final = "spark.hadoop.fs.pulsar+checkpoint"
_FILE_MANAGER: Final = "spark.sql.streaming.checkpointFileManagerClass"
_CHECKSUM_FILES: Final = "spark.sql.streaming.checkpoint.fileChecksum.enabled"
_PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_SETTINGS_BY_STORE: Final = {
    "default": {_CHECKSUM_FILES: "false"},
    # In format 2 each file of state has its own name, so tasks that run twice write different files. Spark supports
    # format 2 only with RocksDB. With a changelog, an epoch writes one small file for each partition.
    "rocksdb": {
        _CHECKSUM_FILES: "false",
        _PROVIDER: _ROCKSDB,
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    },
}


def checkpoint_conf(catalog: str, present: Mapping[str, str], checkpoints: str | None) -> dict[str, str]:
    """Return the settings for the scheme `pulsar+checkpoint`, which uses the connection of a catalog.

    Args:
        catalog: The catalog's name.
        present: Existing settings, which are kept.
        checkpoints: The state store, `"rocksdb"` or `"default"`. The settings for the state store also apply to
            checkpoints outside of Pulsar. If `checkpoints` is None, these settings are not added.

    Raises:
        OptionError: `checkpoints` has another value, or is "rocksdb" while `present` names another provider.

    """
    conf = {
        f"{_FILE_SYSTEM}.impl": FILE_SYSTEM_CLASS,
        # Hadoop would cache one instance per tenant for all sessions. Instances are cheap, and depend on the session's
        # settings.
        f"{_FILE_SYSTEM}.impl.disable.cache": "true",
        f"{_FILE_SYSTEM}.catalog": catalog,
        _FILE_MANAGER: FILE_MANAGER_CLASS,
    }
    if checkpoints is not None:
        if checkpoints not in _SETTINGS_BY_STORE:
            raise OptionError(f"checkpoints: expected 'default' or 'rocksdb', got {checkpoints!r}")
        conf |= _SETTINGS_BY_STORE[checkpoints]
    provider = present.get(_PROVIDER)
    if provider is not None and conf.get(_PROVIDER, provider) != provider:
        raise OptionError(
            f"checkpoints='rocksdb': expected {_PROVIDER} to be unset or {_ROCKSDB}, because only RocksDB has state in "
            f"format 2, got {provider}; remove the setting, or set checkpoints='default'"
        )
    return {key: present.get(key, value) for key, value in conf.items()}

"""What a session must be told so that checkpoints can lie in Pulsar.

Some settings of Spark's hold for every checkpoint of a session, wherever it lies. The class of the file manager is one;
ours leaves other schemes to Spark's own. The format of state and Spark's checksum files are others, which cannot know
where a checkpoint lies: they are set when somebody asks for it.
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

_SUITED: Final = {
    "default": {_CHECKSUM_FILES: "false"},
    # Format 2 gives each file of state a name of its own, so tasks that run twice do not meet; Spark has it for RocksDB
    # only. A changelog makes an epoch one small file for each partition.
    "rocksdb": {
        _CHECKSUM_FILES: "false",
        _PROVIDER: _ROCKSDB,
        "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    },
}


def checkpoint_conf(catalog: str, present: Mapping[str, str], checkpoints: str | None) -> dict[str, str]:
    """Settings for the scheme pulsar+checkpoint with the connection of this catalog; those that there are already
    (`present`) are kept. With `checkpoints`, "rocksdb" or "default", also what holds for other checkpoints.

    Raises `OptionError` for another value, and where `present` names another provider than RocksDB.
    """
    conf = {
        f"{_FILE_SYSTEM}.impl": FILE_SYSTEM_CLASS,
        # Hadoop keeps one instance for a tenant, whatever the session; ours are cheap and belong to their settings.
        f"{_FILE_SYSTEM}.impl.disable.cache": "true",
        f"{_FILE_SYSTEM}.catalog": catalog,
        _FILE_MANAGER: FILE_MANAGER_CLASS,
    }
    if checkpoints is not None:
        if checkpoints not in _SUITED:
            raise OptionError(f"checkpoints: expected 'default' or 'rocksdb', got {checkpoints!r}")
        conf |= _SUITED[checkpoints]
    provider = present.get(_PROVIDER)
    if provider is not None and conf.get(_PROVIDER, provider) != provider:
        raise OptionError(
            f"checkpoints: expected another value than 'rocksdb' in a session whose {_PROVIDER} is {provider}, as only "
            f"RocksDB has state in format 2; leave one of them out"
        )
    return {key: present.get(key, value) for key, value in conf.items()}

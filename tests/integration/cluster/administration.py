"""The admin REST requests about ledgers: how they are laid over bookies, when they end, where they move to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fixtures.cluster.object_store import BUCKET
from fixtures.cluster.pulsar_cluster import PulsarCluster
from integration.official import Admin, await_true

BLOCK_BYTES = 5 * 1024 * 1024  # the minimum that the offloader accepts
BOOKKEEPER_FIRST = "BOOKKEEPER_FIRST"
TIERED_FIRST = "TIERED_STORAGE_FIRST"  # Pulsar's default
_NEVER = 7 * 24 * 3600 * 1000


@dataclass(frozen=True)
class StoredLedger:
    """A line of `internalStats`; `entries` is 0 for the open ledger."""

    ledger: int
    entries: int
    offloaded: bool
    is_open: bool
    ensembles: int
    """The number of bookies; 0 if the broker does not report them."""


class ClusterAdmin(Admin):
    """The admin REST API of one cluster. Topics have full names; requests about ledgers need a topic
    partition.
    """

    def __init__(self, cluster: PulsarCluster) -> None:
        super().__init__(cluster.admin_url)
        self._cluster = cluster

    def create_namespace(self, namespace: str, ensemble: int = 3, write_quorum: int = 2) -> None:
        """Create `tenant/name`; its ledgers have this ensemble, and as many acknowledgements as copies."""
        self._must("PUT", f"namespaces/{namespace}", {"bundles": {"numBundles": 1}})
        self.set_ensemble(namespace, ensemble, write_quorum)

    def set_ensemble(self, namespace: str, ensemble: int, write_quorum: int) -> None:
        """Set the ensemble and the number of copies for ledgers of topics that are loaded later."""
        policy = {
            "bookkeeperEnsemble": ensemble,
            "bookkeeperWriteQuorum": write_quorum,
            "bookkeeperAckQuorum": write_quorum,
            "managedLedgerMaxMarkDeleteRate": 1.0,
        }
        self._must("POST", f"namespaces/{namespace}/persistence", policy)

    def grant(self, namespace: str, role: str, *actions: str) -> None:
        """Grant permissions to clients with a token of the role."""
        self._must("POST", f"namespaces/{namespace}/permissions/{role}", list(actions))

    def set_retention(self, namespace: str, minutes: int, mebibytes: int) -> None:
        policy = {"retentionTimeInMinutes": minutes, "retentionSizeInMB": mebibytes}
        self._must("POST", f"namespaces/{namespace}/retention", policy)

    def offload_to_bucket(
        self, namespace: str, *, keep_on_bookies: bool = False, read_first: str = BOOKKEEPER_FIRST
    ) -> None:
        """Make later calls of `offload` move this namespace's ledgers to S3.

        `read_first` names the copy that brokers read if both exist.
        """
        place = {
            "managedLedgerOffloadDriver": "S3",
            "managedLedgerOffloadBucket": BUCKET,
            "managedLedgerOffloadServiceEndpoint": self._cluster.s3_endpoint,
            "managedLedgerOffloadRegion": "us-east-1",
            "managedLedgerOffloadedReadPriority": read_first,
        }
        self._set_offload_policy(namespace, place, keep_on_bookies=keep_on_bookies)

    def offload_to_folder(self, namespace: str, *, keep_on_bookies: bool = False) -> None:
        """Make later calls of `offload` move this namespace's ledgers to files under
        `cluster.offload_folder`.
        """
        place = {
            "managedLedgerOffloadDriver": "filesystem",
            "fileSystemURI": self._cluster.offload_folder.as_uri(),
            "fileSystemProfilePath": str(self._cluster.home / "conf" / "filesystem_offload_core_site.xml"),
        }
        self._set_offload_policy(namespace, place, keep_on_bookies=keep_on_bookies)

    def _set_offload_policy(self, namespace: str, place: dict[str, str], *, keep_on_bookies: bool) -> None:
        policy = {
            # A namespace's policy replaces the broker's whole, and its default is a folder of the server's.
            "offloadersDirectory": str(self._cluster.offloaders / "offloaders"),
            "managedLedgerOffloadDeletionLagInMillis": _NEVER if keep_on_bookies else 0,
            "managedLedgerOffloadThresholdInBytes": -1,
            "managedLedgerOffloadMaxBlockSizeInBytes": BLOCK_BYTES,
            "managedLedgerOffloadedReadPriority": BOOKKEEPER_FIRST,
            **place,
        }
        self._must("POST", f"namespaces/{namespace}/offloadPolicies", policy)

    def ledgers(self, topic: str) -> list[StoredLedger]:
        """Return the ledgers in order; the last is the open one."""
        stats = self._must("GET", f"{_path(topic)}/internalStats?metadata=true")
        last = stats["ledgers"][-1]["ledgerId"]
        return [
            StoredLedger(
                ledger=each["ledgerId"],
                entries=each["entries"],
                offloaded=each["offloaded"],
                is_open=each["ledgerId"] == last,
                ensembles=(each.get("metadata") or "").partition("ensembles={")[2].count("=["),
            )
            for each in stats["ledgers"]
        ]

    def open_entries(self, topic: str) -> int:
        """Return the number of entries in the open ledger."""
        return int(self._must("GET", f"{_path(topic)}/internalStats")["currentLedgerEntries"])

    def ensemble(self, topic: str) -> list[str]:
        """Return the bookies that store the open ledger now."""
        return list(self.ensembles(topic).values())[-1]

    def ensembles(self, topic: str) -> dict[int, list[str]]:
        """Return the bookies of the last ensemble, in order, by ledger, for the ledgers that the broker
        reports.
        """
        stats = self._must("GET", f"{_path(topic)}/internalStats?metadata=true")
        return {
            each["ledgerId"]: each["metadata"].rpartition("=[")[2].partition("]")[0].split(", ")
            for each in stats["ledgers"]
            if "ensembles=" in (each.get("metadata") or "")
        }

    def roll(self, topic: str) -> int:
        """Close the open ledger; returns the id of the new one."""
        self.unload(topic)
        return self.ledgers(topic)[-1].ledger

    def offload(self, topic: str) -> list[int]:
        """Move the closed ledgers that are not in tiered storage yet, and wait; returns their ids.

        Where the policy does not keep them, their copies on bookies are gone afterwards.
        """
        *closed, last = self.ledgers(topic)
        wanted = {each.ledger for each in closed if not each.offloaded}
        path = f"{_path(topic)}/offload"
        for _ in range(3):
            self._must("PUT", path, {"ledgerId": last.ledger, "entryId": 0, "partitionIndex": -1})
            await_true("offload", lambda: self._must("GET", path)["status"] != "RUNNING")
            status = self._must("GET", path)
            # The local S3 has answered with 500 now and then, on a busy machine.
            if "Response" not in str(status.get("lastError")):
                break
        assert status["status"] == "SUCCESS", status
        moved = {each.ledger for each in self.ledgers(topic) if each.offloaded}
        assert moved >= wanted, (moved, wanted)
        self.trim(topic)  # This is also what deletes the copies.
        return sorted(wanted)

    def trim(self, topic: str) -> None:
        """Remove what retention does not keep, now and not in two minutes."""
        self._must("POST", f"{_path(topic)}/trim")

    def remove_closed(self, namespace: str, topic: str) -> None:
        """End the retention of the namespace, whose topic has no subscription, and wait until its closed ledgers
        are gone. A topic hears of the new policy a little later."""
        self.set_retention(namespace, 0, 0)

        def are_removed() -> bool:
            self.trim(topic)
            return len(self.ledgers(topic)) == 1

        await_true("removal of closed ledgers", are_removed)

    def offload_ids(self, topic: str) -> dict[int, str]:
        """Return the UUID of each ledger's copy in tiered storage."""
        info: Any = self._must("GET", f"{_path(topic)}/internal-info")
        return {
            each["ledgerId"]: each["offloadedContextUuid"]
            for each in info["ledgers"]
            if "offloadedContextUuid" in each
        }


def _path(topic: str) -> str:
    return "persistent/" + topic.removeprefix("persistent://")

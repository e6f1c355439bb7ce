"""Checkpoints on a Pulsar that asks who one is: the rights to produce and consume are enough, for all of it."""

from __future__ import annotations

import uuid

import pytest
from fixtures.secured_pulsar import NAMESPACE, PRODUCER, STRANGER, WORKER, SecuredPulsar
from integration.checkpoint.store_process import Refused, StoreProcess

BIG = bytes(range(256)) * 4096 * 3


@pytest.mark.parametrize("admin", [False, True])
def test_who_may_produce_and_consume_may_do_all(secured: SecuredPulsar, admin: bool) -> None:
    """With `admin.url` such a role may not see policies, nor bookies; that stops nothing."""
    place = f"pulsar+checkpoint://{NAMESPACE}/secured-{uuid.uuid4().hex[:8]}"
    with (
        StoreProcess(**secured.options(WORKER, tls=True, admin=admin)) as driver,
        StoreProcess(**secured.options(WORKER, tls=not admin)) as executor,
    ):
        driver.call("take_over", path=place, owner="q")
        driver.put(f"{place}/offsets/0", b"0", "q", "if_absent")
        executor.upload(f"{place}/state/1.sst", BIG, "q")
        assert driver.content(f"{place}/state/1.sst") == BIG
        assert executor.content(f"{place}/offsets/0") == b"0"
        assert driver.call("maintain", path=place, owner="q", grace_seconds=0)["anchor"] is not None
        with StoreProcess(**secured.options(STRANGER, tls=True)) as stranger:
            for call in (
                lambda: stranger.call("status", path=place),
                lambda: stranger.call("take_over", path=place, owner="x"),
            ):
                with pytest.raises(Refused) as refused:
                    call()
                assert refused.value.kind == "Denied", refused.value
        with StoreProcess(**secured.options(PRODUCER)) as producer, pytest.raises(Refused) as refused:
            producer.call("status", path=place)
        assert refused.value.kind == "Denied"

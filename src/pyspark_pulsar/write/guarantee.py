"""The delivery that option `deliveryGuarantee` asks for: the one place that tells the three apart."""

from __future__ import annotations

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.delivery import Delivery, WithoutTransactions
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.journal_names import journal_of_batch, journal_of_stream

_EXACTLY_ONCE = "exactly-once"


def delivery_of_job(options: WriteOptions) -> Delivery:
    """Of one `df.write`. Driver only. Raises `OptionError` where rows name their topics and no journal is given."""
    if options.delivery_guarantee == _EXACTLY_ONCE:
        return ExactlyOnce.of_job(options, journal_of_batch(options))
    return _without_transactions(options)


def delivery_of_query(options: WriteOptions, checkpoint: str | None) -> Delivery:
    """Of one `df.writeStream`, whose option `checkpointLocation` is `checkpoint`. Driver only. Raises `OptionError` for
    an exactly-once query whose journal has no name."""
    if options.delivery_guarantee == _EXACTLY_ONCE:
        return ExactlyOnce(options, journal_of_stream(options, checkpoint))
    return _without_transactions(options)


def _without_transactions(options: WriteOptions) -> WithoutTransactions:
    return WithoutTransactions(options, awaits_receipts=options.delivery_guarantee != "none")

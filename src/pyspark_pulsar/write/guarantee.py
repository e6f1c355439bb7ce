"""The choice of a `Delivery` by the option `deliveryGuarantee`. No other module chooses a `Delivery`."""

from __future__ import annotations

from pyspark_pulsar.options import WriteOptions
from pyspark_pulsar.write.delivery import Delivery, WithoutTransactions
from pyspark_pulsar.write.exactly_once.delivery import ExactlyOnce
from pyspark_pulsar.write.exactly_once.journal_names import journal_of_batch, journal_of_stream

_EXACTLY_ONCE = "exactly-once"


def delivery_of_job(options: WriteOptions) -> Delivery:
    """Return the delivery for a `df.write`. Runs on the driver only.

    Raises:
        OptionError: Rows name their topics, and the option `transactionJournal` is missing.

    """
    if options.delivery_guarantee == _EXACTLY_ONCE:
        return ExactlyOnce.of_job(options, journal_of_batch(options))
    return _without_transactions(options)


def delivery_of_query(options: WriteOptions, checkpoint: str | None) -> Delivery:
    """Return the delivery for a `df.writeStream`, whose `checkpointLocation` is `checkpoint`. Runs on the driver only.

    Raises:
        OptionError: The options do not determine the journal of an exactly-once query.

    """
    if options.delivery_guarantee == _EXACTLY_ONCE:
        return ExactlyOnce(options, journal_of_stream(options, checkpoint))
    return _without_transactions(options)


def _without_transactions(options: WriteOptions) -> WithoutTransactions:
    return WithoutTransactions(options, awaits_receipts=options.delivery_guarantee != "none")

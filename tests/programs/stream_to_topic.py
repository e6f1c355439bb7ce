"""A streaming query from topic to topic, as a process of its own that tests can kill.

    stream_to_topic.py CHECKPOINT SETTING [--available-now]

SETTING is a JSON object: the options of `source` and `sink`, and if needed Spark's `master`, more of its `conf`, and
`lame_seconds`: so long the first attempt of each epoch's first task rests when it has given half of its rows.
Values are texts.
"""

import json
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
from killable import arguments, session, start
from pyspark import TaskContext

Batches = Iterator[pa.RecordBatch]


def main() -> None:
    given = arguments("setting").parse_args()
    setting = json.loads(given.setting)
    rows = (
        session(setting.get("master", "local[2,8]"), setting.get("conf"))
        .readStream.format("pulsar")
        .options(**setting["source"])
        .load()
        .selectExpr("cast(value as string) as value", "cast(__key as string) as __key")
    )
    if "lame_seconds" in setting:
        rows = rows.mapInArrow(lame(setting["lame_seconds"]), rows.schema)
    start(rows.writeStream.format("pulsar").options(**setting["sink"]), given).awaitTermination()


def lame(seconds: float) -> Callable[[Batches], Batches]:
    def give(batches: Batches) -> Batches:
        context = TaskContext.get()
        assert context is not None
        rests = context.partitionId() == 0 and context.attemptNumber() == 0
        for batch in batches:
            half = batch.num_rows // 2
            yield batch.slice(0, half)
            if rests:
                time.sleep(seconds)
                rests = False
            yield batch.slice(half)

    return give


if __name__ == "__main__":
    main()

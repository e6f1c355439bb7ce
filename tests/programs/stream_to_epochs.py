"""A streaming query into one folder of parquet files for each epoch, as a process of its own that tests can kill.

    stream_to_epochs.py CHECKPOINT FOLDER SETTING [--available-now]

SETTING is a JSON object with the options of `source`, Spark's `master`, and `trouble`, which is the seed of `troubled`.
The member `conf` with more Spark settings is optional.

Keys are texts. Values begin with a number and a space. If Spark runs an epoch again, the epoch's folder is replaced.
The folders therefore contain the rows that the source delivered.
"""

import json

from killable import arguments, session, start
from pyspark.sql import DataFrame
from troubled import SPECULATION, troubled


def main() -> None:
    given = arguments("folder", "setting").parse_args()
    setting = json.loads(given.setting)
    rows = (
        session(setting["master"], setting.get("conf", {}) | SPECULATION)
        .readStream.format("pulsar")
        .options(**setting["source"])
        .load()
        .selectExpr("cast(__key as string) as key", "substring_index(cast(value as string), ' ', 1) as text")
    )
    numbered = rows.select("key", troubled(setting["trouble"])(rows["text"]).cast("bigint").alias("number"))

    def store(epoch: DataFrame, number: int) -> None:
        epoch.write.mode("overwrite").parquet(f"{given.folder}/epoch={number}")

    start(numbered.writeStream.foreachBatch(store), given).awaitTermination()


if __name__ == "__main__":
    main()

"""A streaming query into one folder of parquet files for each epoch, as a process of its own that tests can kill.

    stream_to_epochs.py CHECKPOINT FOLDER OPTIONS [--available-now]

OPTIONS is a JSON object of the source's options. Keys are texts; values begin with a number and a space. An epoch that
Spark runs again replaces its folder, so what the folders hold is what the source delivered.
"""

import json

from killable import arguments, session, start
from pyspark.sql import DataFrame


def main() -> None:
    given = arguments("folder", "options").parse_args()
    rows = (
        session()
        .readStream.format("pulsar")
        .options(**json.loads(given.options))
        .load()
        .selectExpr(
            "cast(__key as string) as key",
            "cast(substring_index(cast(value as string), ' ', 1) as bigint) as number",
        )
    )

    def store(epoch: DataFrame, number: int) -> None:
        epoch.write.mode("overwrite").parquet(f"{given.folder}/epoch={number}")

    start(rows.writeStream.foreachBatch(store), given).awaitTermination()


if __name__ == "__main__":
    main()

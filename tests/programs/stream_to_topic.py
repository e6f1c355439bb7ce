"""A streaming query from topic to topic, as a process of its own that tests can kill.

    stream_to_topic.py CHECKPOINT SETTING [--available-now]

SETTING is a JSON object with the options of `source` and `sink`. These members are optional: Spark's `master`, `conf`
with more Spark settings, and:

- `lame`: the number of seconds for which the first attempt of a task rests, and the value at which the attempt rests;
- `trouble`: the seed of `troubled`;
- `transform`: true if the rows pass through a process of Spark's TRANSFORM, to which a separate thread writes the rows.

Values are texts.
"""

import json
import time
from collections.abc import Callable

from killable import arguments, session, start
from pyspark import TaskContext
from pyspark.sql import Column
from pyspark.sql.functions import udf
from troubled import SPECULATION, troubled


def main() -> None:
    given = arguments("setting").parse_args()
    setting = json.loads(given.setting)
    conf = setting.get("conf", {}) | (SPECULATION if "trouble" in setting else {})
    spark = session(setting.get("master", "local[2,8]"), conf)
    rows = (
        spark.readStream.format("pulsar")
        .options(**setting["source"])
        .load()
        .selectExpr("cast(value as string) as value", "cast(__key as string) as __key")
    )
    if setting.get("transform"):
        rows.createOrReplaceTempView("read")
        rows = spark.sql(
            "SELECT TRANSFORM(value, __key) USING 'cat' AS (value STRING, __key STRING) FROM read"
        )
    if "trouble" in setting:
        rows = rows.withColumn("value", troubled(setting["trouble"])(rows["value"]))
    if "lame" in setting:
        rows = rows.withColumn("value", rest_once(*setting["lame"])(rows["value"]))
    start(rows.writeStream.format("pulsar").options(**setting["sink"]), given).awaitTermination()


def rest_once(seconds: float, at: str) -> Callable[[Column], Column]:
    @udf("string")
    def give(value: str) -> str:
        context = TaskContext.get()
        if value == at and context is not None and context.attemptNumber() == 0:
            time.sleep(seconds)
        return value

    return give


if __name__ == "__main__":
    main()

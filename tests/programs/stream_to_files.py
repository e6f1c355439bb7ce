"""A streaming query from a topic into parquet files, as a process of its own that tests can kill.

    stream_to_files.py CHECKPOINT SERVICE_URL TOPIC FOLDER [--available-now]

The parquet sink is exactly-once, so the files contain exactly the rows that the source delivered.
"""

from killable import arguments, session, start


def main() -> None:
    given = arguments("service_url", "topic", "folder").parse_args()
    rows = (
        session()
        .readStream.format("pulsar")
        .option("service.url", given.service_url)
        .option("topic", given.topic)
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("value", "cast(__key as string) as key", "__messageId as id")
    )
    start(rows.writeStream.format("parquet"), given, given.folder).awaitTermination()


if __name__ == "__main__":
    main()

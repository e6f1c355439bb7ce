"""Options: parsed once, with words for whatever is wrong."""

import hypothesis
import pytest
from hypothesis import strategies as st

from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.options import ConnectionOptions, ReadOptions, WriteOptions, option_fields, parse_options
from pyspark_pulsar.options.parsers import topic_text

SERVICE = {"service.url": "pulsar://localhost:6650"}


def test_defaults_and_keys_in_any_case() -> None:
    options = parse_options(ReadOptions, {"SERVICE.URL": "pulsar://h:1", "Topic": "orders"})
    assert options.service_url == "pulsar://h:1"
    assert options.topic == "orders"
    assert options.starting_offsets is None


@pytest.mark.parametrize(
    ("key", "address"),
    [
        ("service.url", "pulsar://h"),
        ("service.url", "pulsar://a:1,b,[fe80::1]:65535"),
        ("service.url", "pulsar+ssl://[::1]"),
        ("admin.url", "http://h/path"),
        ("admin.url", "http://a:1,b:2/path"),
    ],
)
def test_addresses(key: str, address: str) -> None:
    options = parse_options(ReadOptions, {**SERVICE, "topic": "a", key: address})
    assert address in (options.service_url, options.admin_url)


def test_aliases_of_peers() -> None:
    options = parse_options(ReadOptions, {"serviceUrl": "pulsar://h:1", "subscribe": "a, b"})
    assert options.topics == ("a", "b")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topic": "a"}, "'service.url' is missing"),
        ({**SERVICE, "topik": "a"}, "did you mean 'topic'"),
        ({**SERVICE, "startingOffset": "earliest", "topic": "a"}, "did you mean 'startingOffsets'"),
        (
            {**SERVICE, "zzz": "1", "topic": "a"},
            "unknown option 'zzz' (all options: the page \"Options\" of the documentation)",
        ),
        (SERVICE, "none of the options topic, topics, topicsPattern is set"),
        (
            {**SERVICE, "topic": "a", "pulsar.consumer.replicateSubscriptionState": "true"},
            "expected subscriptionName, got none",
        ),
        ({**SERVICE, "topic": "a", "topics": "b"}, "options topic and topics conflict with each other"),
        ({**SERVICE, "topic": "a", "topicsPattern": "b"}, "options topic and topicsPattern conflict with"),
        ({**SERVICE, "serviceUrl": "pulsar://h:1", "topic": "a"}, "mean the same"),
        ({"service.url": "http://h:1", "topic": "a"}, "expected pulsar://host:port"),
        *(
            ({**SERVICE, "topic": "a", key: address}, "a port from 1 to 65535")
            for key, address in (
                ("service.url", "pulsar://h:99999"),
                ("service.url", "pulsar+ssl://h:6651,h:0"),
                ("service.url", "pulsar://[::1]:65536"),
                ("admin.url", "http://h:99999/path"),
                ("admin.url", "https://h:8443,h:-1"),
                ("bookieHttpUrl", "http://h:99999"),
                ("pulsar.client.proxyServiceUrl", "pulsar+ssl://h:123456"),
                ("bookieAddresses", '{"bk-0": "h:3181", "bk-1": "h:99999"}'),
                ("bookieAddresses", '{"bk-0": "h"}'),
            )
        ),
        ({**SERVICE, "topic": "a", "tieredStorageUrl": "hdfs://h:99999/folder"}, "hdfs://host:port/folder"),
        ({**SERVICE, "topic": " "}, "a topic name such as persistent://public/default/orders"),
        ({**SERVICE, "topics": " , "}, "a comma-separated list"),
        ({**SERVICE, "topics": "[]"}, "a JSON array of them"),
        ({**SERVICE, "topics": '["a", 1]'}, "a JSON array of them"),
        ({**SERVICE, "topic": '"persistent://a/b/c'}, "a full name as a JSON string such as"),
        ({**SERVICE, "topic": "a", "batchRows": "0"}, "a whole number from 1 to 1000000"),
        ({**SERVICE, "topic": "a", "pollTimeoutMs": "soon"}, "a whole number from 1"),
    ],
)
def test_read_options_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_options(ReadOptions, given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("scope", "key", "words"),
    [
        (ReadOptions, "kafka.bootstrap.servers", "'kafka.bootstrap.servers'; the servers are in service.url"),
        (WriteOptions, "subscribe", "set topic for a write, or add a column __topic"),
        (ReadOptions, "kafka.group.id", "set subscriptionName"),
        (ReadOptions, "includeheaders", "'includeHeaders'; the headers are in column __messageProperties"),
        (ReadOptions, "kafka.sasl.jaas.config", "pulsar.client.authPluginClassName"),
        (ReadOptions, "kafka.fetch.min.bytes", "set service.url to its servers"),
        (WriteOptions, "kafka.acks", "set deliveryGuarantee"),
        (ReadOptions, "pulsar.admin.tlsTrustCertsFilePath", "pulsar.client.* also apply to the admin REST API"),
        (ReadOptions, "subscriptionprefix", "unknown option 'subscriptionPrefix'; a query needs no prefix"),
        (WriteOptions, "compressiontype", "did you mean 'pulsar.producer.compressionType'?"),
        (ReadOptions, "maxoffsetspertriger", "did you mean 'maxOffsetsPerTrigger'"),
    ],
)  # fmt: skip
def test_unknown_options_suggest_similar_names(scope: type[ConnectionOptions], key: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_options(scope, {**SERVICE, "topic": "a", key: "b"})
    text = str(caught.value)
    assert words in text
    assert text.startswith("unknown option '")
    assert text.endswith('(all options: the page "Options" of the documentation)')
    assert len(text) < 300


def test_all_unknown_options_at_once() -> None:
    given = {f"kafka.made.up.{number}": "x" for number in range(7)}
    with pytest.raises(OptionError) as caught:
        parse_options(ReadOptions, {**SERVICE, "topic": "a", **given})
    lines = str(caught.value).splitlines()
    assert lines[0] == '7 unknown options (all options: the page "Options" of the documentation):'
    assert len(lines) == 7
    assert lines[-1] == "  - and 2 more"


def test_names_are_shown_as_the_page_has_them() -> None:
    """Spark passes the keys in lower case."""
    with pytest.raises(OptionError, match="options 'topicsPattern' and 'subscribePattern' mean the same"):
        parse_options(ReadOptions, {**SERVICE, "topicspattern": "a", "subscribepattern": "b"})
    with pytest.raises(OptionError, match="option 'batchRows' is 'x': expected a whole number"):
        parse_options(ReadOptions, {**SERVICE, "topic": "a", "batchrows": "x"})


KEYS = "pulsar.producer.cryptoKeyReader"


def test_write_options() -> None:
    options = parse_options(
        WriteOptions, {**SERVICE, "topic": "a", "pulsar.producer.compressionType": "zstd"}
    )
    assert options.compression_type == "ZSTD"
    with pytest.raises(OptionError, match="one of avro, json"):
        parse_options(WriteOptions, {**SERVICE, "topic": "a", "valueFormat": "parquet"})
    assert parse_options(WriteOptions, SERVICE).topic is None
    refused = [
        ({"partitions": "3"}, "'admin.url' is missing: expected it together with partitions"),
        ({"batching": "key", "pulsar.producer.batchingEnabled": "false"}, "batchingEnabled=true"),
        ({"pulsar.producer.chunkMaxMessageSize": "10"}, "needs pulsar.producer.chunkingEnabled=true"),
        (
            {"pulsar.producer.encryptionKeys": "a,b", f"{KEYS}.publicKeys": '{"a": "x"}'},
            "names b without a public key",
        ),
        ({f"{KEYS}.defaultPublicKey": "x"}, "'pulsar.producer.encryptionKeys' is missing"),
    ]
    for given, said in refused:
        with pytest.raises(OptionError, match=said):
            parse_options(WriteOptions, {**SERVICE, "topic": "a", **given})


@pytest.mark.parametrize("scope", [ConnectionOptions, ReadOptions, WriteOptions])
def test_every_option_is_explained_and_no_key_means_two_things(scope: type[ConnectionOptions]) -> None:
    keys = [key.lower() for option in option_fields(scope).values() for key in (option.key, *option.aliases)]
    assert len(keys) == len(set(keys))
    assert all(option.doc.endswith(".") for option in option_fields(scope).values())


def test_private_keys_are_a_json_object_of_paths() -> None:
    given = {"service.url": "pulsar://h:6650", "topic": "t"}
    key = "pulsar.consumer.cryptoKeyReader.privateKeys"
    options = parse_options(ReadOptions, given | {key: '{"a": "/a.pem", "b": "/b.pem"}'})
    assert dict(options.crypto_private_keys) == {"a": "/a.pem", "b": "/b.pem"}
    for text in ("a=/a.pem", "[]", '{"a": 1}', '{"a": ""}'):
        with pytest.raises(OptionError, match="a JSON object from key name to path"):
            parse_options(ReadOptions, given | {key: text})


def test_read_compacted_is_true_or_false() -> None:
    given = {"service.url": "pulsar://h:6650", "topic": "t"}
    assert parse_options(ReadOptions, given | {"pulsar.reader.readCompacted": "TRUE"}).read_compacted
    assert not parse_options(ReadOptions, given | {"readCompacted": "false"}).read_compacted
    with pytest.raises(OptionError, match="true or false"):
        parse_options(ReadOptions, given | {"readCompacted": "yes"})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" orders\n", "orders"),
        ("a,b", "a,b"),
        ('"persistent://a/b/ c "', "persistent://a/b/ c "),
        (r'"non-persistent://a/b/c\n"', "non-persistent://a/b/c\n"),
        ('"a"', '"a"'),
    ],
)
def test_one_topic(text: str, name: str) -> None:
    options = {**SERVICE, "topic": text}
    assert parse_options(ReadOptions, options).topic == name
    assert parse_options(WriteOptions, options).topic == name


@pytest.mark.parametrize(
    ("text", "found"),
    [(" a , b,", ("a", "b")), ('["a,b", " c "]', ("a,b", " c ")), ("[a]", ("[a]",)), ("1,2", ("1", "2"))],
)
def test_several_topics(text: str, found: tuple[str, ...]) -> None:
    assert parse_options(ReadOptions, {**SERVICE, "topics": text}).topics == found


@hypothesis.given(st.text(min_size=1))
def test_a_full_name_as_an_option(local: str) -> None:
    name = f"persistent://a/b/{local}"
    assert parse_options(ReadOptions, {**SERVICE, "topic": topic_text(name)}).topic == name


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        (
            "tieredStorageOptions",
            '{"account_key": "hidden"}',
            "move account_key into the option tieredStorageSecrets",
        ),
        ("tieredStorageOptions", '{"AZURE_STORAGE_SAS_KEY": "hidden"}', "tieredStorageSecrets"),
        ("tieredStorageOptions", '{"aws_sse_customer_key_base64": "hidden"}', "tieredStorageSecrets"),
        ("tieredStorageOptions", '{"proxy_url": "http://u:hidden@h"}', "move proxy_url into the option"),
        (
            "tierCatalog",
            '{"type": "rest", "credential": "id:hidden"}',
            "move credential into the option tierCatalogSecrets",
        ),
        ("tierCatalog", '{"uri": "postgresql://u:hidden@h/db"}', "tierCatalogSecrets"),
        ("tierCatalog", '{"adls.account-key": "hidden"}', "move adls.account-key into the option"),
        (
            "tierCatalog",
            '{"header.Authorization": "Bearer hidden"}',
            "move header.Authorization into the option",
        ),
        (
            "tierCatalog",
            '{"adls.connection-string": "hidden"}',
            "move adls.connection-string into the option",
        ),
        ("tieredStorageUrl", "s3://u:hidden@bucket", "without user, query"),
        ("tieredStorageUrl", "az://container?sig=hidden", "without user, query"),
        ("pulsar.client.tlsKeyFilePath", "-----BEGIN PRIVATE KEY-----\nhidden", "the path of a file"),
        ("bookkeeperTLSKeyFilePath", "data:;base64,hidden", "the path of a file"),
        ("pulsar.consumer.cryptoKeyReader.defaultPrivateKey", "data:;base64,hidden", "the path of a file"),
        ("pulsar.reader.cryptoKeyReader.privateKeys", '{"k": "data:hidden"}', "the path of a file"),
    ],
)
def test_secrets_that_spark_would_show_are_refused_and_not_repeated(key: str, text: str, words: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_options(ReadOptions, {**SERVICE, "topic": "a", key: text})
    assert words in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_secrets_that_spark_hides() -> None:
    given = {
        "tieredStorageOptions": '{"secret_access_key": "hidden-a", "access_key_id": "id", "region": "eu"}',
        "tieredStorageSecrets": '{"account_key": "hidden-b"}',
        "tierCatalog": '{"s3.secret-access-key": "hidden-c", "s3.access-key-id": "id", "type": "rest"}',
        "tierCatalogSecrets": '{"credential": "id:hidden-d"}',
    }
    options = parse_options(ReadOptions, {**SERVICE, "topic": "a", **given})
    assert dict(options.tiered_storage_secrets) == {"account_key": "hidden-b"}
    assert "hidden" not in repr(options)

"""The settings of a session under `spark.sql.catalog.<name>.`."""

import pytest

from pyspark_pulsar.catalog.settings import parse_settings
from pyspark_pulsar.errors import OptionError
from pyspark_pulsar.model.topic import Namespace, TopicName

URL = {"service.url": "pulsar://localhost:6650"}
TOPIC = TopicName.parse("orders")


def test_defaults() -> None:
    settings = parse_settings("pulsar", URL)
    assert settings.default_namespace == Namespace("public", "default")
    assert settings.tenants is None
    assert not settings.system_topics


def test_keys_in_any_case_and_by_their_aliases() -> None:
    settings = parse_settings(
        "pulsar",
        {
            "SERVICEURL": "pulsar://h:1",
            "DEFAULTNAMESPACE": "a/b",
            "tenants": "a, b",
            "systemtopics": "TRUE",
            "python": "x",
        },
    )
    assert settings.default_namespace == Namespace("a", "b")
    assert settings.tenants == ("a", "b")
    assert settings.system_topics
    assert settings.read_options(TOPIC) == {"service.url": "pulsar://h:1", "topic": str(TOPIC)}


def test_each_scope_gets_the_options_that_it_knows() -> None:
    settings = parse_settings("pulsar", URL | {"startingoffsets": "earliest", "deliveryguarantee": "none"})
    assert settings.read_options(TOPIC) == URL | {"startingOffsets": "earliest", "topic": str(TOPIC)}
    assert settings.write_options(TOPIC, "id") == URL | {
        "deliveryGuarantee": "none",
        "topic": str(TOPIC),
        "keyColumn": "id",
    }
    assert "keyColumn" not in settings.write_options(TOPIC, None)


def test_a_key_column_and_an_encoding_for_new_tables() -> None:
    settings = parse_settings("pulsar", URL | {"keyValueEncoding": "separated"})
    assert settings.write_options(TOPIC, None)["keyValueEncoding"] == "separated"
    assert "keyValueEncoding" not in settings.write_options(TOPIC, "id")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "'service.url' is missing"),
        (URL | {"starting.offsets": "x"}, "did you mean 'startingOffsets'"),
        (URL | {"system.topics": "x"}, "did you mean 'systemTopics'"),
        (URL | {"systemTopics": "perhaps"}, "'systemTopics' is 'perhaps': expected true or false"),
        (URL | {"defaultNamespace": "public"}, "`public` is not a namespace: expected `tenant/namespace`"),
        (URL | {"tenants": " "}, "comma-separated"),
        (URL | {"topic": "x"}, "each table sets itself; remove the setting"),
        (URL | {"subscribe": "x"}, "each table sets itself; remove the setting"),
        (URL | {"columns": "x"}, "each table sets itself; remove the setting"),
        (URL | {"serviceUrl": "pulsar://h:1"}, "mean the same"),
        (URL | {"deliveryGuarantee": "twice"}, "expected one of at-least-once"),
        (URL | {"mode": "LOUD"}, "expected one of FAILFAST"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, str], says: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse_settings("lake", given)
    assert "spark.sql.catalog.lake." in str(caught.value)
    assert says in str(caught.value)


def test_secrets_are_not_shown() -> None:
    settings = parse_settings(
        "pulsar",
        URL | {"pulsar.client.authPluginClassName": "token", "pulsar.client.authParams": "token:hidden-word"},
    )
    assert "hidden-word" not in repr(settings)

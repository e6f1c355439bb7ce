"""Names as producers make them: any letters, and characters with a meaning in a URL, a terminal or Pulsar."""

from hypothesis import strategies as st

from pyspark_pulsar.catalog.names import SYSTEM_TABLES
from pyspark_pulsar.errors import TopicNameError
from pyspark_pulsar.model.topic import TopicName

_HOSTILE = (
    " ", "\t", "\n", "\r", "\0", "\x1b[31m", "\x7f", "\x85", "\u202e", "\u2028", '"', "'", "`", "%", "%2e", "%2F",
    "%252F", "?", "#", ";", "&", "+", "\\", "..", ".", ":", "/", "é", "\U0001f600", "-partition-", "-partition-3",
    "01", "0", "2147483647", "2147483648", "\u0663", "-", "a",
)  # fmt: skip
TABLE_PIECES = st.sampled_from(
    ["$", "a", "Z", "%2F", ".", "-partition-3", "é", "non-persistent:", *SYSTEM_TABLES]
)
ANY_TEXTS = st.lists(st.sampled_from(_HOSTILE), max_size=6).map("".join) | st.text(max_size=12)
"""Valid names, and invalid ones."""


def _is_local(text: str) -> bool:
    try:
        return TopicName.parse(f"persistent://a/b/{text}").local == text
    except TopicNameError:
        return False


LOCALS = (st.lists(TABLE_PIECES, min_size=1).map("".join) | ANY_TEXTS).filter(_is_local)
NAME_PARTS = st.text("aZ0-=:._", min_size=1).filter(lambda part: part not in (".", ".."))

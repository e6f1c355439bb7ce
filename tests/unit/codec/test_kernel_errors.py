"""The remedies in errors of reads and writes: each error has exactly one."""

from __future__ import annotations

import pytest

from pyspark_pulsar._kernel import KernelError
from pyspark_pulsar.codec.kernel_errors import read_error, write_error


def _error(kind: str, message: str) -> KernelError:
    error = KernelError(message)
    error.kind, error.message = kind, message
    error.ledger, error.entry, error.batch_index, error.row = -1, -1, -1, -1
    return error


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("payload", "expected at most 2 GiB in a column of a batch, got more; read smaller batches"),
        ("schema", "column x is not in the topic's schema; check the name"),
        ("schema", "expected one column, got none; register the schema again, or set mode=PERMISSIVE"),
    ],
)
def test_a_remedy_of_the_kernel_is_the_only_one(kind: str, message: str) -> None:
    assert str(read_error(_error(kind, message), topic="t")) == f"topic t: {message}"


@pytest.mark.parametrize(
    "message",
    [
        "expected a value, got null; the schema does not allow null here",
        'expected an Avro type, got "a; b"',
        "expected UTF-8",
    ],
)
def test_a_text_without_a_remedy_gets_the_advice_of_its_kind(message: str) -> None:
    assert str(read_error(_error("schema", message), topic="t")).startswith(f"topic t: {message}; make ")
    assert str(write_error(_error("payload", message), topic="t")).startswith(f"topic t: {message}; change ")

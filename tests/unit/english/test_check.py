"""The check of English that `make lint` runs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fixtures.doc_pages import ROOT

CHECK = ROOT / "scripts" / "english"


@pytest.fixture(scope="module")
def check() -> Iterator[Any]:
    """Return a function from a file's name and text to the lines and rules of its findings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(CHECK))
        from passages import passages
        from rules import Rules

        rules = Rules.load(CHECK)
        yield lambda name, text: sorted(
            (finding.line, finding.rule)
            for passage in passages(name, text)
            for finding in rules.check(passage)
        )


_GOOD = '''"""Addresses of bookies, as text."""


class Address:
    """A host and a port.

    Attributes:
        host: The name of a host, or an IP address without brackets.
        port: From 1 to 65,535.

    """


def parse(text: str) -> Address:
    """Parse `host:port`.

    Returns:
        The address.

    Raises:
        ValueError: The port is not a number.

    """
    # Bookies register IPv6 addresses without brackets, so the last colon separates the port.
    return Address(text.rpartition(":"))
'''


def test_plain_english_has_no_findings(check: Any) -> None:
    assert check("src/address.py", _GOOD) == []


@pytest.mark.parametrize(
    ("good", "bad", "expected"),
    [
        ("A host and a port.", "Of a host and a port.", "opening"),
        ("Parse `host:port`.", "What `host:port` means.", "opening"),
        ("The address.", "The address, which nobody knows.", "word"),
        ("separates the port", "seperates the port", "spelling"),
        ("def parse(", "def held(", "name"),
        ("def parse(", "def tell_port(", "name"),
        ("so the last colon", f"so {'the first colon and ' * 6}the last colon", "length"),
        ("The port is not a number.", "The port that is what was passed, which is no number.", "clauses"),
        ("return Address(", 'raise OSError("nobody knows this address", ', "word"),
    ],
)
def test_each_rule_finds_its_fault_at_its_line(check: Any, good: str, bad: str, expected: str) -> None:
    line = _GOOD.count("\n", 0, _GOOD.index(good)) + 1
    assert check("src/address.py", _GOOD.replace(good, bad, 1)) == [(line, expected)]


def test_the_command_fails_and_names_file_line_and_advice(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    (tmp_path / "page.md").write_text("# Topics\n\nNobody reads it.\n")
    command = [sys.executable, CHECK]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert checked.returncode == 1
    assert checked.stdout.startswith("page.md:3: word: 'Nobody'; write ")
    (tmp_path / "page.md").write_text("# Topics\n\nNo consumer reads it.\n")
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_comments_and_texts_of_rust_and_java_are_checked(check: Any) -> None:
    rust = '/// Frames.\n\n/// Of a frame.\nfn held() {\n  // Nobody reads it.\n    fail("a frame that lies behind");\n'
    assert check("lib.rs", rust) == [
        (3, "opening"),
        (4, "name"),
        (5, "word"),
        (6, "word"),
        (6, "word"),
    ]
    java = "/**\n * What a call is.\n *\n * <p>Nobody asks {@code whom}.\n */\nclass Call {} // told anew\n"
    assert check("Call.java", java) == [
        (1, "opening"),
        (4, "word"),
        (4, "word"),
        (6, "word"),
        (6, "word"),
    ]


def test_strings_below_attributes_are_docstrings(check: Any) -> None:
    source = (
        'X = 1\n"""What nobody told."""\n\n\nclass Call:\n    kind: int\n    """Whether a call is new."""\n'
    )
    assert check("src/call.py", source) == [(2, "opening"), (2, "word"), (2, "word"), (7, "opening")]


def test_code_in_pages_is_not_checked(check: Any) -> None:
    page = "# Topics\n\n`nobody` [here](behind.md).\n\n```sql\nSELECT nobody\n```\n\n<!-- nobody -->\n\n| a | told |\n"
    assert check("page.md", page) == [(11, "word")]


def test_texts_that_are_no_sentences_are_not_checked(check: Any) -> None:
    source = (
        'A = "SELECT nobody FROM told WHERE asked"\nB = "nobody told"\nC = "--behind FILE of nobody at all"\n'
    )
    assert check("src/texts.py", source) == []


def test_terms_are_sorted_and_needed() -> None:
    terms = (CHECK / "terms.txt").read_text().split()
    assert terms == sorted(set(terms))

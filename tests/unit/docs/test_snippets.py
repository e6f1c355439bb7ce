import ast
from collections.abc import Iterator

import pytest
from fixtures.doc_pages import PAGES, Snippet, snippets

from pyspark_pulsar.options import ConnectionOptions, ReadOptions, WriteOptions, option_fields

SNIPPETS = [snippet for page in PAGES for snippet in snippets(page)]
SPARKS_OWN = {"checkpointlocation"}


def _defined_names(*scopes: type[ConnectionOptions]) -> set[str]:
    options = [option for scope in scopes for option in option_fields(scope).values()]
    return {key.lower() for option in options for key in (option.key, *option.aliases)} | SPARKS_OWN


def _chain(call: ast.Call) -> set[str]:
    """The attributes from which a call hangs: read, format, option ..."""
    names, node = set(), call.func
    while isinstance(node, ast.Attribute | ast.Call):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
            node = node.value
        else:
            node = node.func
    return names


def _dict_keys(node: ast.AST, names: dict[str, ast.Dict]) -> list[str]:
    found = names.get(node.id) if isinstance(node, ast.Name) else node
    assert isinstance(found, ast.Dict), "options from a dictionary that is written out in the snippet"
    return [ast.literal_eval(key) for key in found.keys if key is not None]


def _options(code: str) -> Iterator[tuple[str, set[str]]]:
    """Every option with the attributes of its call chain."""
    tree = ast.parse(code)
    names = {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Dict)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr == "option":
            yield ast.literal_eval(call.args[0]), _chain(call)
        elif call.func.attr == "options":
            for keyword in call.keywords:
                keys = [keyword.arg] if keyword.arg else _dict_keys(keyword.value, names)
                for key in keys:
                    yield key, _chain(call)


def _unknown(code: str) -> list[str]:
    scopes = {
        "read": ReadOptions,
        "readStream": ReadOptions,
        "write": WriteOptions,
        "writeStream": WriteOptions,
    }
    faults = []
    for key, chain in _options(code):
        used = [scope for name, scope in scopes.items() if name in chain] or [ReadOptions, WriteOptions]
        if key.lower() not in _defined_names(*used):
            faults.append(key)
    return faults


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_a_snippet_compiles_and_uses_known_options(snippet: Snippet) -> None:
    compile(snippet.code, str(snippet), "exec")
    assert not _unknown(snippet.code)


def test_there_are_snippets_and_some_run() -> None:
    assert len(SNIPPETS) >= 8
    assert sum(snippet.runs for snippet in SNIPPETS) >= 6


def test_the_check_of_options_sees_unknown_ones() -> None:
    assert _unknown('spark.read.format("pulsar").option("servce.url", "x").load()') == ["servce.url"]
    assert _unknown('df.write.options(**{"startingOffsets": "earliest"})') == ["startingOffsets"]
    assert not _unknown('spark.readStream.option("SERVICEURL", "x")')

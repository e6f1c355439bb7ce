"""The English passages of a source file or page: docstrings, comments, texts, names and paragraphs."""

from __future__ import annotations

import ast
import inspect
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

# Replaces code inside a sentence, and counts as one word of any kind.
CODE: Final = "CODE"
_SHORTEST_TEXT: Final = 4  # words; shorter string literals are keys and names
_QUERY: Final = re.compile(
    r"\s*(SELECT|INSERT|CREATE|ALTER|DROP|CALL|DESCRIBE|WITH|MERGE|SHOW|DELETE|UPDATE|SET)\b"
)
_NO_PROSE: Final = re.compile(
    r"[{}<>=]{2}|\\d|\(\?|<\w+[ >]|[\w-]+: ?[\w#.-]+;|^\s*--"
)  # code, patterns, HTML, CSS, options
_TOOL_COMMENT: Final = re.compile(r"\s*(noqa|type:|mypy:|ruff:|pragma|fmt:|!|allow:|run:|tree$|SAFETY)")


@dataclass(frozen=True)
class Passage:
    """A passage of a file.

    Attributes:
        kind: `docstring`, `comment`, `text`, `name`, `page` or `heading`.
        line: The first line, from 1.
        text: Paragraphs are separated by an empty line; code is replaced by `CODE`.

    """

    path: str
    line: int
    kind: str
    text: str


def passages(path: str, source: str) -> Iterator[Passage]:
    """Yield the passages of a file, by the suffix of its path."""
    for line, kind, text in SUFFIXES["." + path.rpartition(".")[2]](path, source):
        if text.strip():
            yield Passage(path, line, kind, text)


_Found = Iterator[tuple[int, str, str]]


def _python(path: str, source: str) -> _Found:
    tree = ast.parse(source)
    documented: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if node.body and ast.get_docstring(node):
                constant = node.body[0].value  # type: ignore[attr-defined]
                documented.add(id(constant))
                yield constant.lineno, "docstring", without_code(ast.get_docstring(node) or "")
            if not isinstance(node, ast.Module):
                yield node.lineno, "name", node.name
        # A string below an attribute is its docstring.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            below = node.value
            if isinstance(below.value, str) and id(below) not in documented:
                documented.add(id(below))
                yield below.lineno, "docstring", without_code(inspect.cleandoc(below.value))
    if "tests/" not in path:
        yield from _python_texts(tree, documented)
    yield from _python_comments(source)


def _python_texts(tree: ast.Module, documented: set[int]) -> _Found:
    inner: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner.update(id(part) for part in ast.walk(node) if part is not node)
            parts = (part.value if isinstance(part, ast.Constant) else CODE for part in node.values)
            text = "".join(str(part) for part in parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            text = node.value
        else:
            continue
        if id(node) not in inner and is_prose(text):
            yield node.lineno, "text", without_code(text)


def _python_comments(source: str) -> _Found:
    block: list[tuple[int, int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        text = token.string.lstrip("#")
        follows = block and (line, column) == (block[-1][0] + 1, block[-1][1])
        if not follows:
            yield from _comment(block)
            block = []
        block.append((line, column, "" if _TOOL_COMMENT.match(text) else text))
    yield from _comment(block)


def _comment(block: list[tuple[int, int, str]]) -> _Found:
    if block:
        yield block[0][0], "comment", without_code("\n".join(text for _, _, text in block))


_SLASHES: Final = re.compile(r"^\s*//([/!]?)\s?(.*)$")
_BLOCK: Final = re.compile(r"/\*\*?(?!/)(.*?)\*/", re.DOTALL)
_LITERAL: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_DEFINITION: Final = re.compile(
    r"^\s*(?:pub(?:\([a-z]+\))? )?(?:fn|struct|enum|trait|mod) (\w+)", re.MULTILINE
)


def _slashes(path: str, source: str) -> _Found:
    """Yield the passages of Rust or Java.

    A comment at the end of a line of code is a separate passage.
    """
    block: list[str] = []
    kind = ""
    lines = source.splitlines()
    for number, line in enumerate([*lines, ""], start=1):
        found = _SLASHES.match(line)
        kind_here = "" if not found else "docstring" if found[1] else "comment"
        if block and kind_here != kind:
            yield number - len(block), kind, without_code("\n".join(block))
            block = []
        kind = kind_here
        if found:
            block.append("" if _TOOL_COMMENT.match(found[2]) else found[2])
        else:
            yield from _code_line(path, number, line)
    for comment in _BLOCK.finditer(source):
        body = re.sub(r"(?m)^[ \t]*\* ?", "", comment[1])
        body = re.sub(r"\{@\w+ ([^}]*)\}", r"`\1`", re.sub(r"<[^>]+>", " ", body))
        kind = "docstring" if comment[0].startswith("/**") else "comment"
        yield source.count("\n", 0, comment.start()) + 1, kind, without_code(body)
    for name in _DEFINITION.finditer(source):
        yield source.count("\n", 0, name.start(1)) + 1, "name", name[1]


def _code_line(path: str, number: int, line: str) -> _Found:
    for literal in _LITERAL.finditer(line):
        if "tests/" not in path and is_prose(literal[1]):
            yield number, "text", without_code(literal[1].replace("\\n", "\n"))
    trailing = re.search(r"\s//\s(.*)$", _LITERAL.sub('""', line))
    if trailing and not _TOOL_COMMENT.match(trailing[1]):
        yield number, "comment", without_code(trailing[1])


def _markdown(_path: str, source: str) -> _Found:
    blank = _blanked(r"(?ms)^(\s*)(`{3,}|~{3,}).*?^\s*\2[^\n]*$", source)
    blank = _blanked(r"(?s)<!--.*?-->", blank)
    blank = _blanked(r"(?s)<(svg|script|style)\b.*?</\1>", blank)
    start, paragraph = 1, list[str]()
    for number, line in enumerate([*blank.splitlines(), ""], start=1):
        heading = re.match(r"#+ (.*)", line)
        apart = not line.strip() or heading or re.match(r"\s*([-*+]|\d+\.|\||>|:)\s*", line)
        if apart and paragraph:
            yield start, "page", without_code("\n".join(paragraph))
            paragraph = []
        if heading:
            yield number, "heading", without_code(heading[1])
        elif line.lstrip().startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                yield number, "page", without_code(cell)
        elif line.strip():
            start = start if paragraph else number
            paragraph.append(line)


def _blanked(pattern: str, source: str) -> str:
    return re.sub(pattern, lambda found: "\n" * found[0].count("\n"), source)


_CODES: Final = (
    (re.compile(r"(?ms)^\s*```.*?```"), ""),
    (re.compile(r"``[^`]+``|`[^`]+`"), CODE),
    (
        re.compile(r"(?m)^ {4,}\*{0,2}\w+(?:, \*{0,2}\w+)*(?=: )|[\w-]+\[[\w,]+\]"),
        CODE,
    ),  # arguments, extras of a package
    (re.compile(r"!?\[([^\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"\[([^\]]+)\](?!\w)"), r"\1"),
    (re.compile(r"<[^<>\s]+>|https?://\S+|\S+://\S*"), CODE),
    # Calls, options, paths, dotted and mixed names, as comments write them without backquotes.
    (
        re.compile(
            r"[\w.]+\([^()\s]*\)|(?<!\w)[.-]{1,2}\w[\w.-]*|\w+(?:[./:=]\w+)+/?|\w*_\w+|[a-z]+[A-Z]\w*|\$\w+"
        ),
        CODE,
    ),
)


def without_code(text: str) -> str:
    """Replace code in the text by `CODE`, and remove indented blocks of code, keeping line breaks."""
    text = re.sub(
        r"(?m)(?:(?<=\n\n)|\A)(?: {4,}\S.*(?:\n|\Z))+", lambda found: "\n" * found[0].count("\n"), text
    )
    for pattern, replacement in _CODES:
        text = pattern.sub(replacement, text)
    return text


def is_prose(text: str) -> bool:
    """Return whether a string literal is a sentence rather than a key, a query or code."""
    words = re.findall(r"(?<![\w./:=-])[A-Za-z]{2,}(?![\w/:=({])", text)
    return len(words) >= _SHORTEST_TEXT and not _QUERY.match(text) and not _NO_PROSE.search(text)


SUFFIXES: Final[dict[str, Callable[[str, str], _Found]]] = {
    ".py": _python, ".pyi": _python, ".rs": _slashes, ".java": _slashes, ".md": _markdown,
}  # fmt: skip

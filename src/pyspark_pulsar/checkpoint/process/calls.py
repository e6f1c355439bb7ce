"""The calls that the JVM can make, by name.

Each function converts the arguments of the protocol to a call of a checkpoint, and converts the result back.

The parameters are the store, the arguments, the body of the request, and the deadline of the answer. A function returns
a tuple: the `result` of the answer, and the body of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark_pulsar.checkpoint.address import parse_path
from pyspark_pulsar.checkpoint.checkpoint import Checkpoint, Status
from pyspark_pulsar.checkpoint.deadline import Deadline
from pyspark_pulsar.checkpoint.index.tree import Path
from pyspark_pulsar.checkpoint.messages.message_position import position_text
from pyspark_pulsar.checkpoint.store import Store
from pyspark_pulsar.errors import OptionError

Arguments = Mapping[str, Any]
Answer = tuple[Any, bytes]

_MODES: Final = {"overwrite": False, "if_absent": True}


def _take_over(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, _ = _resolve(store, arguments["path"])
    store.take_over(checkpoint, str(arguments["owner"]), deadline)
    return None, b""


def _look_after(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, _ = _resolve(store, arguments["path"])
    store.look_after(checkpoint, str(arguments["owner"]), deadline)
    return None, b""


def _maintain(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body, deadline
    checkpoint, _ = _resolve(store, arguments["path"])
    done = store.maintain(
        checkpoint,
        str(arguments["owner"]),
        snapshot=bool(arguments.get("snapshot", True)),
        grace_seconds=arguments.get("grace_seconds"),
    )
    anchor, floor = position_text(done.anchor), position_text(done.floor)
    return {"anchor": anchor, "moved": done.moved, "floor": floor}, b""


def _status(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    status = checkpoint.status(path, deadline)
    return {**_as_json(status), "id": status.id}, b""


def _list(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    listed = checkpoint.list(path, deadline)
    return [{"name": status.name, **_as_json(status)} for status in listed], b""


def _mkdirs(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    checkpoint.mkdirs(path, _owner(arguments), deadline)
    return None, b""


def _delete(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    recursive = bool(arguments.get("recursive"))
    return checkpoint.delete(path, _owner(arguments), deadline, recursive=recursive), b""


def _rename(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    source, target = parse_path(arguments["source"]), parse_path(arguments["target"])
    if source.checkpoint != target.checkpoint:
        raise OptionError(
            f"renaming {source} to {target}: expected two paths in one checkpoint, got paths in two "
            f"checkpoints; copy the file"
        )
    overwrite = bool(arguments.get("overwrite"))
    store.checkpoint(source.checkpoint).rename(
        source.parts, target.parts, _owner(arguments), deadline, overwrite=overwrite
    )
    return None, b""


def _put(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    checkpoint, path = _resolve(store, arguments["path"])
    checkpoint.put(path, body, _owner(arguments), deadline, if_absent=_if_absent(arguments))
    return None, b""


def _upload_begin(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    owner = _owner(arguments)
    upload = checkpoint.upload(path, owner, deadline, if_absent=_if_absent(arguments))
    return {"upload": store.begin(checkpoint, owner, upload)}, b""


def _upload_write(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    _, _, upload = store.find_upload(int(arguments["upload"]))
    upload.write(body, deadline)
    return None, b""


def _upload_commit(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    number = int(arguments["upload"])
    checkpoint, owner, upload = store.find_upload(number)
    store.end(number)
    checkpoint.finish(upload, owner, deadline)
    return None, b""


def _upload_abort(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    ended = store.end(int(arguments["upload"]))
    if ended is not None:
        ended[2].abort(deadline)
    return None, b""


def _open(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    file, content = checkpoint.open(path, deadline)
    return {"file": file.id, "length": file.length, "inline": content is not None}, content or b""


def _read(store: Store, arguments: Arguments, body: bytes, deadline: Deadline) -> Answer:
    del body
    checkpoint, path = _resolve(store, arguments["path"])
    offset, length = int(arguments["offset"]), int(arguments["length"])
    return None, checkpoint.read(str(arguments["file"]), path, offset, length, deadline)


def _resolve(store: Store, text: Any) -> tuple[Checkpoint, Path]:
    path = parse_path(str(text))
    return store.checkpoint(path.checkpoint), path.parts


def _owner(arguments: Arguments) -> str | None:
    owner = arguments.get("owner")
    return None if owner is None else str(owner)


def _if_absent(arguments: Arguments) -> bool:
    mode = arguments.get("mode")
    if mode not in _MODES:
        raise OptionError(f"mode: expected one of {', '.join(_MODES)}, got {mode!r}")
    return _MODES[mode]


def _as_json(status: Status) -> dict[str, Any]:
    return {"file": status.is_file, "length": status.length, "modified": status.modified_ms}


CALLS: Final[Mapping[str, Callable[[Store, Arguments, bytes, Deadline], Answer]]] = {
    "take_over": _take_over,
    "look_after": _look_after,
    "maintain": _maintain,
    "status": _status,
    "list": _list,
    "mkdirs": _mkdirs,
    "delete": _delete,
    "rename": _rename,
    "put": _put,
    "upload_begin": _upload_begin,
    "upload_write": _upload_write,
    "upload_commit": _upload_commit,
    "upload_abort": _upload_abort,
    "open": _open,
    "read": _read,
}

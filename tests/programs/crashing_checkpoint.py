"""A proxy between a JVM and the process that stores the JVM's checkpoints. The proxy kills both processes at a step.

    crashing_checkpoint.py -m pyspark_pulsar.checkpoint

Run this program instead of the interpreter. The environment variable CRASH_PLAN names a file with the plan, which is
a JSON object. `checkpoints` contains the names of the watched checkpoints. `step` selects the kind of their files:
`offsets`, `state` or `commits`. `nth` selects one file of this kind in each checkpoint. `moment` is one of:

- `before`: the file is not written, because the call that commits the file does not reach the process;
- `in`: the call reaches the process, and up to `jitter` seconds later the process and the JVM are killed;
- `after`: the file is written, but the JVM receives no answer.

A call that reaches its step waits until all checkpoints have reached their step. The process and the JVM are then
killed with SIGKILL. `swapped` names a checkpoint with a fault: the first state file of each partition replaces all
later state files of the partition. The test's comparison must find this fault.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

_STATE = re.compile(r"/(?P<store>state/\d+/\d+)/[^/]*\.(changelog|delta|zip)$")
_STEPS = {
    "offsets": re.compile(r"/offsets/\d+$"),
    "state": _STATE,
    "commits": re.compile(r"/commits/\d+$"),
}
_HEAD = struct.Struct(">II")
Frame = tuple[dict[str, Any], bytes]


class Crash:
    def __init__(self, plan: dict[str, Any], process: subprocess.Popen[bytes]) -> None:
        self._plan = plan
        self._process = process
        self._jvm = os.getppid()
        self._lock = threading.Lock()
        self._seen: dict[str, int] = {}
        self._at_step: set[str] = set()
        self._held: list[Frame] = []
        self._answers: dict[int, str] = {}
        """The name of the checkpoint for each call whose answer is delayed, by the id of the call."""
        self._uploads: dict[int, str] = {}
        self._begun: dict[int, str] = {}
        self._first_bodies: dict[str, bytes] = {}

    def called(self, frame: Frame) -> None:
        header, body = frame
        with self._lock:
            path = self._committed(header)
            name = self._watched(path)
            body = self._swapped(path, header, body)
            is_due = name is not None and self._is_due(name)
            if is_due and self._plan["moment"] == "after":
                self._answers[header["id"]] = str(name)
            elif is_due:
                self._held.append((header, body))
                self._arrived(str(name))
                return
        write(self._process.stdin, header, body)

    def answered(self, frame: Frame) -> None:
        header, body = frame
        with self._lock:
            number = header.get("id")
            if number in self._begun:
                path = self._begun.pop(number)
                if "result" in header:
                    self._uploads[header["result"]["upload"]] = path
            name = self._answers.pop(number, None)
            if name is not None:
                self._arrived(name)
                return
        write(sys.stdout.buffer, header, body)

    def _committed(self, header: dict[str, Any]) -> str | None:
        """Return the path of the file that a call creates, or None if the call creates no file."""
        given = header.get("arguments", {})
        if header.get("call") == "upload_begin":
            self._begun[header["id"]] = given["path"]
        if header.get("call") == "put":
            return str(given["path"])
        if header.get("call") == "upload_commit":
            return self._uploads.get(given["upload"])
        return None

    def _watched(self, path: str | None) -> str | None:
        if path is None or "step" not in self._plan or not _STEPS[self._plan["step"]].search(path):
            return None
        return next((name for name in self._plan["checkpoints"] if f"/{name}/" in path), None)

    def _is_due(self, name: str) -> bool:
        self._seen[name] = self._seen.get(name, 0) + 1
        return self._seen[name] == self._plan["nth"]

    def _arrived(self, name: str) -> None:
        self._at_step.add(name)
        if self._at_step != set(self._plan["checkpoints"]):
            return
        if self._plan["moment"] == "in":
            for header, body in self._held:
                write(self._process.stdin, header, body)
            time.sleep(random.uniform(0, self._plan["jitter"]))
        for victim in (self._process.pid, self._jvm, os.getpid()):
            os.kill(victim, signal.SIGKILL)

    def _swapped(self, path: str | None, header: dict[str, Any], body: bytes) -> bytes:
        name = self._plan.get("swapped")
        found = _STATE.search(path) if path is not None and name and f"/{name}/" in path else None
        if found is None or header["call"] != "put":
            return body
        # The first files are kept on disk, because a fault of a store outlives this process.
        first = Path(f"{os.environ['CRASH_PLAN']}-{found['store'].replace('/', '-')}")
        if not first.exists():
            first.write_bytes(body)
        return first.read_bytes()


def read(stream: BinaryIO) -> Frame | None:
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    header, body = _HEAD.unpack(head)
    return json.loads(stream.read(header)), stream.read(body)


def write(stream: BinaryIO | None, header: dict[str, Any], body: bytes) -> None:
    assert stream is not None
    text = json.dumps(header).encode()
    stream.write(_HEAD.pack(len(text), len(body)) + text + body)
    stream.flush()


def main() -> None:
    plan = json.loads(Path(os.environ["CRASH_PLAN"]).read_text())
    process = subprocess.Popen([sys.executable, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    answers = process.stdout
    crash = Crash(plan, process)

    def follow() -> None:
        while (frame := read(answers)) is not None:
            crash.answered(frame)
        os._exit(process.wait())

    threading.Thread(target=follow, daemon=True).start()
    while (frame := read(sys.stdin.buffer)) is not None:
        crash.called(frame)
    process.stdin.close()
    process.wait()


if __name__ == "__main__":
    main()

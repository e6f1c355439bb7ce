"""Random records of an index as several owners would write them, and a simple model of their meaning."""

from dataclasses import dataclass, field

from hypothesis import strategies as st

from pyspark_pulsar.checkpoint.index.records import Chunk, Kind, Record
from pyspark_pulsar.checkpoint.index.state import IndexState
from pyspark_pulsar.checkpoint.index.tree import File

OWNERS = ("a", "b", "c")
PATHS = ("x", "y", "d", "d/x", "d/y", "d/e", "d/e/x", "x/z")


def _put(kind: Kind, owner: str, path: str, size: int, ledger: int | None) -> tuple:
    details = {"path": path, "length": size}
    if ledger is None:
        return kind, owner, details, b"b" * size
    details["chunks"] = [[ledger, size, size, 7]]
    return kind, owner, details, b""


owners = st.sampled_from(OWNERS)
paths = st.sampled_from(PATHS)
changes = st.one_of(
    st.builds(lambda owner: (Kind.TAKEOVER, owner, {}, b""), owners),
    st.builds(
        _put,
        st.sampled_from([Kind.PUT, Kind.PUT_IF_ABSENT]),
        owners,
        paths,
        st.integers(0, 9),
        st.none() | st.integers(1, 4),
    ),
    st.builds(lambda owner, path, all_: (Kind.DELETE, owner, {"path": path, "recursive": all_}, b""),
              owners, paths | st.just(""), st.booleans()),
    st.builds(lambda owner, path: (Kind.MKDIR, owner, {"path": path}, b""), owners, paths),
    st.builds(lambda owner, path, target, over: (
        Kind.RENAME, owner, {"path": path, "target": target, "overwrite": over}, b""),
        owners, paths, paths, st.booleans()),
    st.builds(lambda owner, ledger: (Kind.FLOOR, owner, {"at": f"{ledger}:0"}, b""), owners, st.integers(1, 4)),
)  # fmt: skip


def as_records(drawn: list, start: int = 1, first: str = "a") -> list[tuple[tuple[int, int], Record]]:
    """Return FORMAT, a takeover, and the changes, each with a position; each writer has seen all earlier
    ones.
    """
    head = [(Kind.FORMAT, first, {}, b""), (Kind.TAKEOVER, first, {}, b"")]
    found, last = [], None
    for number, (kind, owner, details, body) in enumerate([*head, *drawn]):
        place = (start + number // 7, number % 7)
        found.append((place, Record(kind, f"{number:016x}", owner, number, last, None, dict(details), body)))
        last = place
    return found


@dataclass
class Model:
    """Folders as a set, and files as a dictionary from path to id, written without reading the product's
    tree.
    """

    owner: str = ""
    folders: set[str] = field(default_factory=lambda: {""})
    files: dict[str, str] = field(default_factory=dict)
    chunks: dict[str, tuple[int, int]] = field(default_factory=dict)
    floor: tuple[int, int] = (0, 0)

    def apply(self, record: Record) -> None:
        if record.kind is Kind.TAKEOVER:
            self.owner = record.owner
        elif record.owner == self.owner and record.kind is not Kind.FORMAT:
            name = "raise_floor" if record.kind is Kind.FLOOR else record.kind.value.lower()
            getattr(self, name)(record)

    def above(self, path: str) -> list[str]:
        parts = path.split("/")[:-1]
        return ["/".join(parts[: depth + 1]) for depth in range(len(parts))]

    def make_room(self, path: str) -> bool:
        if any(folder in self.files for folder in self.above(path)):
            return False
        self.folders.update(self.above(path))
        return True

    def below(self, path: str) -> list[str]:
        return [each for each in {*self.folders, *self.files} if path == "" or each.startswith(path + "/")]

    def put(self, record: Record, *, absent: bool = False) -> None:
        path = record.details["path"]
        chunk = next((tuple(chunk[:2]) for chunk in record.details.get("chunks", ())), None)
        if chunk is not None and chunk < self.floor:
            return
        if path in self.folders or (absent and path in self.files) or not self.make_room(path):
            return
        self.files[path] = record.id
        if chunk is not None:
            self.chunks[record.id] = chunk

    def put_if_absent(self, record: Record) -> None:
        self.put(record, absent=True)

    def mkdir(self, record: Record) -> None:
        path = record.details["path"]
        if path not in self.files and self.make_room(path):
            self.folders.add(path)

    def delete(self, record: Record) -> None:
        path = record.details["path"]
        below = [each for each in self.below(path) if each]
        if path in self.folders and below and not record.details["recursive"]:
            return
        for each in [*below, path]:
            self.files.pop(each, None)
            if each:
                self.folders.discard(each)

    def rename(self, record: Record) -> None:
        source, target = record.details["path"], record.details["target"]
        if source == target or target.startswith(source + "/"):
            return
        if source not in self.files and source not in self.folders:
            return
        if target in self.folders or target in self.files:
            same = (target in self.files) == (source in self.files)
            if not record.details["overwrite"] or not same or self.below(target):
                return
        if any(folder in self.files for folder in self.above(target)):
            return
        self.folders.update(self.above(target))
        self.files.pop(target, None)
        for each in [*self.below(source), source]:
            moved = target + each[len(source) :]
            if each in self.files:
                self.files[moved] = self.files.pop(each)
            elif each in self.folders:
                self.folders.remove(each)
                self.folders.add(moved)

    def raise_floor(self, record: Record) -> None:
        at = tuple(int(part) for part in record.details["at"].split(":"))
        needed = [self.chunks[each] for each in self.files.values() if each in self.chunks]
        if all(at <= each for each in needed):
            self.floor = max(self.floor, at)


def seen_in(state: IndexState) -> tuple[str, set[str], dict[str, str]]:
    folders, files = set(), {}
    for path, node in state.tree.walk():
        if isinstance(node, File):
            files["/".join(path)] = node.id
        else:
            folders.add("/".join(path))
    return state.owner, folders, files


def chunk(ledger: int, entry: int, length: int = 1) -> Chunk:
    return Chunk(ledger, entry, length, 0)

"""The module that the package imports as `pyspark_pulsar.runtime` inside the simulation (see there).

`world` is the world of the present run. Each other name replaces a module or class of Python's library.
"""

from __future__ import annotations

import random as python_random
import socket as python_socket
import threading as python_threading
import uuid as python_uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, InvalidStateError
from contextlib import suppress
from types import SimpleNamespace, TracebackType
from typing import Any, Generic, Self, TypeVar

from simulation.world import Fiber, World

Result = TypeVar("Result")

world: World = None  # type: ignore[assignment]
"""The present world. `enter` sets it."""
connect: Callable[[Any], Any] = None  # type: ignore[assignment]


def enter(new: World, connector: Callable[[Any], Any]) -> None:
    """Make a world the present one. `connector` opens simulated sockets."""
    global world, connect
    world, connect = new, connector


def _sleep(seconds: float) -> None:
    world.park(seconds)


time = SimpleNamespace(
    monotonic=lambda: world.now,
    perf_counter=lambda: world.now,
    time=lambda: world.now,
    time_ns=lambda: int(world.now * 1e9),
    sleep=_sleep,
)


class _Lock:
    """A lock of one process. A thread that finds it taken waits for the owner."""

    def __init__(self) -> None:
        self._owner: Fiber | None = None
        self._depth = 0
        self._waiting: deque[Fiber] = deque()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        me = world.fiber
        while self._owner is not None:
            if self._owner is me and isinstance(self, _RLock):
                self._depth += 1
                return True
            if not blocking:
                return False
            self._waiting.append(me)
            if not world.park(None if timeout < 0 else timeout):
                self._waiting.remove(me)
                return False
        self._owner = me
        self._depth = 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if self._depth:
            return
        self._owner = None
        if self._waiting:
            world.wake(self._waiting.popleft())

    def locked(self) -> bool:
        return self._owner is not None

    def __enter__(self) -> bool:
        if self._owner is None:
            self._owner = world.fiber
            self._depth = 1
            return True
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _RLock(_Lock):
    pass


class _Condition:
    def __init__(self, lock: _Lock | None = None) -> None:
        self._lock = lock or _RLock()
        self._waiting: list[Fiber] = []
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> bool:
        return self._lock.__enter__()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        me, depth = world.fiber, self._lock._depth
        self._lock._depth = 1
        self._lock.release()
        self._waiting.append(me)
        try:
            woken = world.park(timeout)
        finally:
            if me in self._waiting:
                self._waiting.remove(me)
        self._lock.acquire()
        self._lock._depth = depth
        return woken

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        end = None if timeout is None else world.now + timeout
        while not (result := predicate()):
            left = None if end is None else end - world.now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self, n: int = 1) -> None:
        for fiber in self._waiting[:n]:
            world.wake(fiber)
        del self._waiting[:n]

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class _Event:
    def __init__(self) -> None:
        self._is_set = False
        self._changed = _Condition()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._changed.notify_all()

    def clear(self) -> None:
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._is_set, timeout)


class _Thread:
    def __init__(
        self,
        group: None = None,
        target: Callable[..., Any] | None = None,
        name: str | None = None,
        args: Iterable[Any] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name = name or "thread"
        self.daemon = daemon
        self._call = lambda: target(*args, **(kwargs or {})) if target else None
        self._done = Future[None]()
        self._started = False

    def start(self) -> None:
        self._started = True
        world.start(world.process, self.name, self._run)

    def _run(self) -> None:
        try:
            self._call()
        finally:
            if not self._done.done():
                self._done.set_result(None)

    def join(self, timeout: float | None = None) -> None:
        with suppress(TimeoutError):
            self._done.result(timeout)

    def is_alive(self) -> bool:
        return self._started and not self._done.done()


class _Local:
    def __init__(self) -> None:
        object.__setattr__(self, "_of", {})

    def __getattr__(self, name: str) -> Any:
        try:
            return self._of[world.fiber][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._of.setdefault(world.fiber, {})[name] = value


threading = SimpleNamespace(
    Lock=_Lock,
    RLock=_RLock,
    Condition=_Condition,
    Event=_Event,
    Thread=_Thread,
    local=_Local,
    current_thread=lambda: world.fiber,
    get_ident=lambda: id(world.fiber),
    TIMEOUT_MAX=python_threading.TIMEOUT_MAX,
)


class Future(Generic[Result]):
    """A future of one process."""

    __slots__ = ("_calls", "_done", "_fault", "_result", "_waiting")

    def __init__(self) -> None:
        self._done = False
        self._result: Any = None
        self._fault: BaseException | None = None
        self._waiting: list[Fiber] = []
        self._calls: list[Callable[[Future[Result]], None]] = []

    def is_done(self) -> bool:
        return self._done

    done = is_done

    def cancelled(self) -> bool:
        return False

    def cancel(self) -> bool:
        return False

    def running(self) -> bool:
        return not self._done

    def set_running_or_notify_cancel(self) -> bool:
        return True

    def set_result(self, result: Result) -> None:
        self._settle(result, None)

    def set_exception(self, fault: BaseException | None) -> None:
        self._settle(None, fault)

    def _settle(self, result: Any, fault: BaseException | None) -> None:
        if self._done:
            raise InvalidStateError(repr(self))
        self._done, self._result, self._fault = True, result, fault
        for fiber in self._waiting:
            world.wake(fiber)
        for call in self._calls:
            call(self)

    def add_done_callback(self, call: Callable[[Future[Result]], None]) -> None:
        if self._done:
            call(self)
        else:
            self._calls.append(call)

    def _await(self, timeout: float | None) -> None:
        end = None if timeout is None else world.now + timeout
        while not self._done:
            left = None if end is None else end - world.now
            if left is not None and left <= 0:
                raise TimeoutError
            me = world.fiber
            self._waiting.append(me)
            try:
                world.park(left)
            finally:
                self._waiting.remove(me)

    def result(self, timeout: float | None = None) -> Result:
        if not self._done:
            self._await(timeout)
        if self._fault is not None:
            raise self._fault
        return self._result  # type: ignore[no-any-return]

    def exception(self, timeout: float | None = None) -> BaseException | None:
        if not self._done:
            self._await(timeout)
        return self._fault


def wait(
    futures: Iterable[Future[Any]], timeout: float | None = None, return_when: str = "ALL_COMPLETED"
) -> SimpleNamespace:
    """Wait for futures, as `concurrent.futures.wait`."""
    every = set(futures)
    changed = _Condition()
    end = None if timeout is None else world.now + timeout
    for future in every:
        future.add_done_callback(lambda _: changed.notify_all())
    with changed:
        while True:
            done = {future for future in every if future.done()}
            enough = bool(done) if return_when == FIRST_COMPLETED else len(done) == len(every)
            left = None if end is None else end - world.now
            if enough or not every or (left is not None and left <= 0):
                return SimpleNamespace(done=done, not_done=every - done)
            changed.wait(left)


class ThreadPoolExecutor:
    """A pool that starts a thread for each call, at most `max_workers` at a time."""

    def __init__(self, max_workers: int | None = None, thread_name_prefix: str = "pool", **_: Any) -> None:
        self._free = max_workers or 8
        self._name = thread_name_prefix
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._futures: list[Future[Any]] = []

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._futures = [each for each in self._futures if not each.done()]
        self._futures.append(future)
        self._calls.append((future, lambda: call(*args, **kwargs)))
        if self._free:
            self._free -= 1
            world.start(world.process, self._name, self._work)
        return future

    def _work(self) -> None:
        while self._calls:
            future, call = self._calls.popleft()
            try:
                result = call()
            except Exception as fault:  # noqa: BLE001
                future.set_exception(fault)
            else:
                future.set_result(result)
        self._free += 1

    def map(self, call: Callable[..., Any], *items: Iterable[Any]) -> Iterator[Any]:
        futures = [self.submit(call, *each) for each in zip(*items, strict=False)]

        def results() -> Iterator[Any]:
            try:
                for future in futures:
                    yield future.result()
            finally:
                mine = set(futures)
                self._calls = deque(each for each in self._calls if each[0] not in mine)
                self._futures = [each for each in self._futures if each not in mine or each.done()]

        return results()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if cancel_futures:
            self._calls.clear()
        if wait:
            running = {id(future) for future, _ in self._calls}
            for future in self._futures:
                if id(future) not in running or self._free:
                    future.exception()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, Exception):
            self.shutdown(wait=True)


class _Random:
    """Random numbers of the package. They come from the run's seed, and are no decisions of the run."""

    def __init__(self) -> None:
        self.generator = python_random.Random(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.generator, name)


random = _Random()


def _uuid4() -> python_uuid.UUID:
    return python_uuid.UUID(int=random.getrandbits(128), version=4)


uuid = SimpleNamespace(uuid4=_uuid4, UUID=python_uuid.UUID)
secrets = SimpleNamespace(
    token_hex=lambda n=16: f"{random.getrandbits(8 * n):0{2 * n}x}",
    token_urlsafe=lambda n=16: f"{random.getrandbits(8 * n):0{2 * n}x}",
    randbits=random.getrandbits,
)


def _getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
    return [(python_socket.AF_INET, python_socket.SOCK_STREAM, 6, "", (host, port))]


socket = SimpleNamespace(
    **{name: getattr(python_socket, name) for name in dir(python_socket) if name.isupper()},
    socket=lambda *_: connect(world.process),
    getaddrinfo=_getaddrinfo,
    gaierror=python_socket.gaierror,
)

"""The clock, threads and random numbers of this process, which the simulation replaces (`tests/simulation`).

Modules of the client, of the sink, of checkpoints, of reading and of tiering import these names from here, and never
from Python's own modules. Before the simulation imports the package, it loads another module under the name of this
module. In that other module, time passes only when every thread waits, and a seed decides which thread runs next.
"""

from __future__ import annotations

import random as random  # noqa: PLC0414 -- importable from here
import secrets as secrets  # noqa: PLC0414
import socket as socket  # noqa: PLC0414
import threading as threading  # noqa: PLC0414
import time as time  # noqa: PLC0414
import uuid as uuid  # noqa: PLC0414
from concurrent.futures import (
    FIRST_COMPLETED as FIRST_COMPLETED,  # noqa: PLC0414
    Future as Future,  # noqa: PLC0414
    InvalidStateError as InvalidStateError,  # noqa: PLC0414
    ThreadPoolExecutor as ThreadPoolExecutor,  # noqa: PLC0414
    wait as wait,  # noqa: PLC0414
)

"""A script that runs a command, and ends the command when the parent process of the script ends for any reason.

`LocalPulsar` starts this script as `python -I -S watchdog.py PARENT_PID COMMAND...`, so it uses only the standard
library. The script prints the command's process id on standard output. The command's output goes to this script's
standard error. The script ends when the command ends, with the same exit code.

The script polls its parent's process id, because the alternatives fail. PR_SET_PDEATHSIG exists only on Linux, and
sends its signal when the *thread* that started the child ends. A pipe stays open in every forked child of the parent.
"""

import os
import signal
import subprocess
import sys

_POLL_SECONDS = 0.5
_GRACE_SECONDS = 10.0


def main() -> int:
    parent = int(sys.argv[1])
    command = subprocess.Popen(  # noqa: S603 - the caller's own command
        sys.argv[2:], stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), start_new_session=True
    )
    print(command.pid, flush=True)  # noqa: T201 - this is the protocol with the parent
    os.close(sys.stdout.fileno())
    while True:
        try:
            return command.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if os.getppid() != parent:
                return _end(command)


def _end(command: "subprocess.Popen[bytes]") -> int:
    os.killpg(command.pid, signal.SIGTERM)
    try:
        return command.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(command.pid, signal.SIGKILL)
        return command.wait()


if __name__ == "__main__":
    # An ordinary exit of the interpreter would flush the closed standard output.
    os._exit(main() & 0xFF)

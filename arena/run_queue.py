"""How long the kernel had a thread of this process wait for a processor."""

from pathlib import Path
from typing import Final

_SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")
"""Time on a processor, time waited for one (both in nanoseconds), and how often (Linux, sched-stats)."""


def thread_waited_us() -> int:
    """Microseconds in which this thread was ready and got no processor, in all; 0 where no system tells."""
    try:
        return int(_SCHEDSTAT.read_bytes().split()[1]) // 1000
    except (OSError, IndexError):
        return 0

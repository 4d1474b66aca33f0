"""Children of this process that are held still (SIGSTOP), and for how long that was."""

import asyncio
import os
import signal
from time import monotonic


async def stands_still(pid: int) -> bool:
    """Wait until a child is stopped, by whomever; False when it has ended."""
    watched = os.WSTOPPED | os.WEXITED | os.WNOWAIT
    try:
        seen = await asyncio.to_thread(os.waitid, os.P_PID, pid, watched)
    except ChildProcessError:
        return False
    return seen is not None and seen.si_code == os.CLD_STOPPED


async def go_on_after(pid: int, pause_s: float) -> float:
    """Let a child that stands still go on after a while; the seconds for which it surely stood still."""
    began_s = monotonic()
    await asyncio.sleep(pause_s)
    taken_s = monotonic() - began_s
    os.kill(pid, signal.SIGCONT)
    return taken_s


async def hold_still(pid: int, pause_s: float) -> float:
    """Stop a child for a while; the seconds for which it surely stood still."""
    os.kill(pid, signal.SIGSTOP)
    assert await stands_still(pid)
    return await go_on_after(pid, pause_s)

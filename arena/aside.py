"""Work on a thread of its own, for what may take long and holds up nothing that is urgent.

The threads of a pool are waited for before the process ends; one of these is left where it is. And
whoever waits for it may stop waiting at any time.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def on_own_thread(call: Callable[[], T]) -> T:
    """Make a call; cancelled, it is over at once, whatever the thread is at. Raises what the call raises."""
    outcome: Future[T] = Future()
    # From here on a waiter that goes away leaves it to be set all the same.
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            outcome.set_exception(error)

    threading.Thread(target=work, name="aside", daemon=True).start()
    return await asyncio.wrap_future(outcome)

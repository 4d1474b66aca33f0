"""What every test shares: how many cases hypothesis makes, and that a run can be repeated.

A normal run makes the same cases every time, so that a failure is the change's and not chance's. The
nightly run looks for new ones and prints how to make a failing one again.
"""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("normal", derandomize=True, deadline=None, max_examples=100)
settings.register_profile(
    "nightly",
    deadline=None,
    max_examples=2000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))

"""Settings that all tests share."""

import signal

from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")

# Where tests run in the background, interrupts may be ignored, and would be by every program they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

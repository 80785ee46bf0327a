"""Settings that every test shares."""

import os
import signal

from hypothesis import settings

# A shared machine has no deadlines; CI draws the same examples every time, so that a red run can
# be repeated.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Started in the background of a script the tests inherit an ignored Ctrl-C, and so would the
# programs that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""Settings that every test shares."""

import os
import signal

from hypothesis import settings

# A shared machine has no deadlines; CI draws the same examples every time, so that a red run can
# be repeated.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Started in the background of a script, or by nohup, the tests inherit ignored signals, and so
# would the programs that they end.
for ignored, usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, usual)

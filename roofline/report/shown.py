"""How much of a long answer is shown unless more is asked for.

Apart from the reports themselves: the command line needs these to describe its options, long before
it needs what makes a report.
"""

ROWS = 15  # lines of a run's table
ACCOUNT_ROWS = 20  # lines of an account's
FINDINGS = 5  # on the first screen

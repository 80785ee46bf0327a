"""Bytes that were found to reach new lines of the importers do no harm either."""

import subprocess
import sys

import pytest

LIMITS = ("-runs=10000", "-max_len=60000", "-timeout=20", "-rss_limit_mb=1024")


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["traces", "others"])
def test_guided_by_coverage(tmp_path, kind):
    pytest.importorskip("atheris", reason="pip install 'roofline[fuzz]' brings it")
    command = [sys.executable, "-m", "tests.importers.guided", kind, str(tmp_path)]
    done = subprocess.run([*command, *LIMITS], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr[-2000:]
    assert "Done 10000 runs" in done.stderr

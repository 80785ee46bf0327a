"""Coverage-guided fuzzing: atheris looks for bytes that reach new lines of the importers.

    python -m tests.importers.guided traces|others FOLDER [libFuzzer options]

FOLDER gets the samples to start from, and whatever reached new lines.  Ends with an exit code at the
first file that makes a traceback; libFuzzer itself watches time and memory.
"""

import sys
import tempfile
from pathlib import Path


def main(program: str, kind: str, folder: str, *options: str) -> None:
    """Fuzz until the options say stop."""
    import atheris

    with atheris.instrument_imports(include=["roofline.importers", "roofline.counters"]):
        import roofline.importers.kineto.trace
        import roofline.importers.nsys.convert  # noqa: F401  # loaded late otherwise
        from roofline.importers import load
    from roofline.errors import RooflineError
    from roofline.report.document import of_run
    from tests.importers import test_fuzz_tables
    from tests.importers.kineto import test_fuzz

    with tempfile.TemporaryDirectory() as held:
        path = Path(held) / "bytes"
        others = [*test_fuzz_tables.SAMPLES, test_fuzz_tables.database(Path(held))]
        for number, sample in enumerate(test_fuzz.SAMPLES if kind == "traces" else others):
            (Path(folder) / f"sample{number}").write_bytes(sample)

        def one(data: bytes) -> None:
            path.write_bytes(data)
            said = ""
            try:
                of_run(load([path]))
            except RooflineError as error:
                said = str(error)
            assert "\n" not in said

        atheris.Setup([program, *options, folder], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv)

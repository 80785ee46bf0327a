"""Every command explains itself, and every command answers a mistake with one sentence."""

import pytest
from click.testing import CliRunner

from roofline.cli import COMMANDS, cli, main


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(name: str) -> None:
    shown = CliRunner().invoke(cli, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert f"roofline {name}" in shown.output.partition("Example")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_the_users_mistake(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([name, "--no-such-option"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("roofline: ")
    assert len(said.err.splitlines()) == 1


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Usage: roofline")


@pytest.mark.parametrize("option", ["--rows", "--findings"])
def test_fewer_lines_than_none(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "absent.roof", option, "-1"]) == 2
    assert f"'{option}': -1 is not in the range" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["docter"], "doctor"), (["lab", "dail"], "dial"), (["lab", "xyz"], "dial")],
)
def test_a_mistyped_command_gets_the_near_one(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert meant in capsys.readouterr().err

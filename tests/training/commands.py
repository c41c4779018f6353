"""Commands of training, as a person types them."""

from typer.testing import CliRunner

from training.cli import app


def tessera(*arguments, code=0):
    """The output of a command in one line."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())

"""The command line: thin doors to the library, and one clear sentence when something cannot be done.

Nothing heavy is imported until a command needs it, so that help answers at once. A refusal, a missing file or
an interrupt ends with a sentence on stderr and a non-zero exit status, never with a traceback.
"""

import os
import sys
from collections.abc import Sequence
from typing import Any

from headsmith.refusal import Refusal


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``headsmith ARGV``; the status is the command's own, 1 refused, 2 misused, 130 interrupted.

    >>> main(["papers", "run", "nonsense"])
    1
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # our matrices are small: more threads only wait for each other
    try:
        from headsmith.cli.app import command

        app = command()
    except KeyboardInterrupt:
        return _say("interrupted", 130)
    return execute(app, sys.argv[1:] if argv is None else argv)


def execute(command: Any, argv: Sequence[str]) -> int:
    """Run any click command on these words, with our treatment of minus signs and of errors."""
    import typer

    from headsmith.cli.arguments import values_last

    try:
        status = command.main(values_last(command, list(argv)), prog_name="headsmith", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except Refusal as refusal:
        return _say(str(refusal), 1)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return _say(f"{error.filename}: {reason}" if error.filename else reason, 1)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        sentence, misused = error.format_message().rstrip("."), getattr(error, "exit_code", 2)
        return _say(sentence, misused) if sentence else misused  # help was asked for by asking nothing
    if status == 130:
        return _say("interrupted", 130)
    return status if isinstance(status, int) else 0


def _say(sentence: str, status: int) -> int:
    print(f"headsmith: {sentence}", file=sys.stderr)
    return status

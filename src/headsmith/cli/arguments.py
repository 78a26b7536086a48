"""Minus signs: ``headsmith compile "-x^2" --domain -2 2`` means what it says.

Option parsers take every word with a leading minus for an option. We know better: options of this program
have long names (and ``-h``), so a word with a single minus that is not one of the command's own options is
a value, a formula or a number. Before parsing, values are moved behind a ``--``, which keeps their order
and lets options stand on either side of them; words with two minus signs stay, and a misspelt one is still
an error.
"""

from typing import Any

import typer


def values_last(command: Any, argv: list[str]) -> list[str]:
    """The same command line with each command's options first and its values behind ``--``.

    >>> values_last(command, ["compile", "-x^2", "--domain", "-2", "2"])       # doctest: +SKIP
    ['compile', '--domain', '-2', '2', '--', '-x^2']
    """
    width = _option_widths(command)
    children = getattr(command, "commands", {})
    options: list[str] = []
    values: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            values += words
            break
        name, attached, _ = word.partition("=")
        if name in width:
            taken = max(0, width[name] - len(attached))
            if taken > len(words):
                raise typer.BadParameter(f"{name} takes {width[name]} value{'s' * (width[name] > 1)}")
            options += [word, *words[:taken]]
            words = words[taken:]
        elif word.startswith("--") and len(word) > 2:
            options.append(word)
        elif word in children:
            return [*options, word, *values_last(children[word], words)]
        elif children:
            return list(argv)  # an unknown command: leave the message to the parser
        else:
            values.append(word)
    return [*options, "--", *values] if values else options


def _option_widths(command: Any) -> dict[str, int]:
    """How many words each option takes after its name."""
    widths = {"-h": 0, "--help": 0}
    for parameter in command.params:
        if parameter.param_type_name == "option":
            flag = parameter.is_flag or parameter.count
            for name in (*parameter.opts, *parameter.secondary_opts):
                widths[name] = 0 if flag else parameter.nargs
    return widths

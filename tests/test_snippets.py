"""Every example in the README and the docs runs, and prints what it says it prints.

Fenced blocks of one page share one namespace and one temporary folder. In ```python blocks, code with
``>>>`` is compared with its shown output and other code must simply run; in ```console blocks each ``$
headsmith ...`` line goes through the command line. ``...`` stands for anything, and numbers of seconds are
not compared. A block after the comment ``<!-- no-run -->`` is left out.
"""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
EXCERPT = re.compile(r"<!-- from (?P<file>\S+) -->\n```py\n(?P<body>.*?)```", re.S)
FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>python|console)[^\n]*\n(?P<body>.*?)^ *```", re.M | re.S)
SECONDS = re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)?(?= ?(?:s|ms|seconds)\b)")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(text: str) -> list[tuple[str, str, int]]:
    """(kind, body, line) of the blocks to run."""
    found = []
    for match in FENCE.finditer(text):
        if text[: match.start()].rstrip().endswith("<!-- no-run -->"):
            continue
        body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.M)
        found.append((match["kind"], body, text.count("\n", 0, match.start()) + 2))
    return found


def loosely_equal(want: str, got: str) -> bool:
    """Equal up to white space, ``...`` and seconds."""
    want, got = (SECONDS.sub("#", text) for text in (want, got))
    return doctest.OutputChecker().check_output(want.strip() + "\n", got.strip() + "\n", FLAGS)


def run_python(body: str, scope: dict, line: int, page: str) -> None:
    if ">>>" not in body:
        exec(compile("\n" * (line - 1) + body, page, "exec"), scope)
        return
    for example in doctest.DocTestParser().get_examples(body):
        out = io.StringIO()
        place = f"{page}:{line + example.lineno}"
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(example.source, place, "single"), scope)
            except Exception as error:
                if example.exc_msg is None:
                    raise
                out.write(f"{type(error).__name__}: {error}\n")
        want = example.want if example.exc_msg is None else re.sub(r"^[\w.]*\.", "", example.exc_msg)
        assert not want or loosely_equal(want, out.getvalue()), f"{place}\nwant: {want}\ngot: {out.getvalue()}"


def run_console(body: str, line: int, page: str) -> None:
    from headsmith.cli import main

    for step in re.split(r"^(?=\$ )", body, flags=re.M):
        command, _, want = step.partition("\n")
        words = shlex.split(command.removeprefix("$ "), comments=True)
        if words[:1] != ["headsmith"]:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            main(words[1:])
        got = out.getvalue()
        assert not want.strip() or loosely_equal(want, got), f"{page}:{line} {command}\nwant: {want}\ngot: {got}"


def run_page(text: str, page: str) -> None:
    scope: dict = {"__name__": "__snippet__"}
    for kind, body, line in blocks(text):
        if kind == "python":
            run_python(body, scope, line, page)
        else:
            run_console(body, line, page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_examples_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    run_page(page.read_text(encoding="utf-8"), page.name)


GOOD = """
```python
>>> 1 / 3
0.333...
>>> print("took 0.25 s")
took 9.9 s
>>> int("x")
Traceback (most recent call last):
...
ValueError: invalid literal ...
```

```console
$ headsmith papers run nonsense
headsmith: there is no experiment 'nonsense'; ...
```

<!-- no-run -->
```python
raise SystemExit
```
"""


def test_a_page_of_right_examples_passes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(GOOD, "good.md")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nassert False\n```\n",
        "```python\n>>> 1 / 0\n1\n```\n",
        "```console\n$ headsmith papers run nonsense\nsomething else\n```\n",
    ],
)
def test_a_page_with_a_wrong_example_fails(text):
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_page(text, "bad.md")


def test_excerpts_are_lines_of_the_files_they_name():
    found = EXCERPT.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    assert found
    for file, body in found:
        lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
        assert not [line for line in body.splitlines() if line not in lines], file

"""``headsmith compile FILE --as conll``: a labelled file recalled by one head and one ReLU layer."""

from __future__ import annotations

from pathlib import Path

from headsmith.cli.console import show, show_json, working, writable


def compile_labelled(path: Path, form: str, dtype: str, method: str, out: Path | None, json: bool) -> None:
    """The table of what was built and checked, or the refusal that names the two tokens in the way."""
    import time

    from headsmith.doors.labelled import read_labelled
    from headsmith.doors.tagging import tag, words_of

    for file in () if out is None else (out, words_of(out)):
        writable(file)
    data = read_labelled(path, form)
    with working(f"recalling {path}"):
        start = time.perf_counter()
        made = tag(data, dtype, method)
        seconds = time.perf_counter() - start
    files = [] if out is None else list(map(str, made.save(out)))
    if json:
        show_json({**made.record(), "seconds": seconds, "files": files})
    else:
        written = [f"written to {' and '.join(files)}"] if files else []
        certificate = made.net.certificate
        show(made, f"{certificate.kind}: {certificate.statement}", f"built and checked in {seconds:.1f} s", *written)

from headsmith.views.one_machine import KINDS, LEAST, one_machine

ROW = {
    "name": "a loop", "kinds": ["rows", "norm", "attention"], "loop": [1, 2, 40], "passes": 81, "prompt": 12345,
    "error": 0.0, "bound": 1e-9, "proved": 1e-12,
}  # fmt: skip


def test_cells_are_passes_a_frame_is_a_loop_and_dots_are_errors():
    rows = [ROW, {**ROW, "name": "a head", "kinds": ["activation"], "loop": [1, 0, 0], "passes": 1, "error": 1e-13}]
    fig = one_machine({"programs": rows, "numbers": 360, "hash": "0123456789abcdef" * 4})
    tapes, errors = fig.axes
    boxes = [type(patch).__name__ for patch in tapes.patches]
    assert boxes.count("Rectangle") == 4 and boxes.count("FancyBboxPatch") == 1
    said = [text.get_text() for text in tapes.texts]
    assert (
        "40 times: 81 passes" in said
        and said.count("12 345") == 2
        and set(KINDS) == {text.get_text() for text in tapes.get_legend().get_texts()}
    )
    dots = [float(line.get_xdata()[0]) for line in errors.get_lines() if line.get_marker() == "."]
    assert dots == [LEAST, 1e-13]
    assert "2 programs" in fig.get_suptitle() and "0123456789ab" in fig.get_suptitle()

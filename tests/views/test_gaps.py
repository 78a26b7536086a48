from headsmith.views.gaps import sorted_gaps

MEASURED = {
    "ids": 4,
    "tokens": 5,
    "gaps": {"place": [0, 1, 2], "gap": [1e-3, 2e-2, 5e-2], "changes": [True, False, True], "range": 1.0,
             "rounding": 1e-9, "proved": 9e-4},
}  # fmt: skip


def test_points_and_lines_are_those_of_the_record():
    [axis] = sorted_gaps(MEASURED).axes
    same, another = (points.get_offsets().tolist() for points in axis.collections)
    assert same == [[1.0, 2e-2]] and another == [[0.0, 1e-3], [2.0, 5e-2]]
    assert [line.get_ydata()[0] for line in axis.get_lines()] == [9e-4, 1e-9]
    assert axis.get_yscale() == "log" and "4 context ids of 5 tokens" in axis.get_title()


def test_bounds_are_rounded_the_safe_way():
    texts = [t.get_text() for t in sorted_gaps(MEASURED).legends[0].get_texts()]
    assert "proved of all that differ: 0.000899" in texts and "rounding: 1.1e-9" in texts

from headsmith.views.tape_run import LEAST, NAMED, tape_run


def test_few_passes_have_names_and_many_have_numbers():
    axes = tape_run("a run", ["read", "bend"], ["rows", "activation"], [0.0, 1e-12]).axes[0]
    assert [bar.get_height() for bar in axes.patches] == [LEAST, 1e-12] and axes.get_yscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["read", "bend"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["rows", "activation"]
    many = NAMED + 1
    axes = tape_run("a run", ["step"] * many, ["norm"] * many, [1e-12] * many).axes[0]
    assert axes.get_xlabel() == "pass" and len(axes.patches) == many

import headsmith as hs


def test_recall_lists_its_public_names():
    names = ["capacity", "ceilings", "explain_failure", "hardmax_impossible", "mean_pooling"]
    assert hs.recall.__all__ == names
    assert "recall" in dir(hs)

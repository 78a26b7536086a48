from headsmith.papers.ours import float32


def test_the_smallest_eps_in_single_precision_is_certified():
    found = float32.smallest("relu(x)", (-1.0, 1.0), 3)
    assert found["eps"] <= 1e-5 and found["method"] == "gate"
    claim = float32.float32.claims[-2]
    assert claim.verdict({"points": [{"formula": "relu(x)", **found}]}) == "holds"
    assert claim.verdict({"points": [{"formula": "relu(x)", "eps": 1e-4}]}) == "fails"
    assert claim.verdict({"points": []}) == "too short to tell"


def test_the_self_check_sees_a_larger_rounding(monkeypatch):
    assert float32.self_check()
    monkeypatch.setattr(float32, "UNIT", 2.0**-8)  # the search does not go below what it believes to be the unit
    monkeypatch.setattr(float32, "START", 2.0**-7)
    assert float32.self_check()  # the bound that was proved is what counts, not the eps that was asked for
    monkeypatch.setattr(float32, "smallest", lambda *args: {"eps": 1e-4})
    assert not float32.self_check()
    monkeypatch.setattr(float32, "smallest", lambda *args: {"eps": None})
    assert not float32.self_check()

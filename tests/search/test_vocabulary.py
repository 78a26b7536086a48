import numpy as np

from headsmith.search.vocabulary import owned_table, random_places


def test_words_with_one_majority_label_lie_side_by_side():
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 50, 2000)
    codes = np.where(rng.random(2000) < 0.3, rng.integers(0, 4, 2000), tokens * 7 % 4)
    table = owned_table(tokens, codes, 3, rng)
    most = [np.bincount(codes[tokens == w]).argmax() for w in np.argsort(table[:, 0])]
    assert (np.diff(most) >= 0).all()
    ranks = np.sort(table[:, 0])
    assert (np.diff(ranks) == 2.0**-6).all() and ranks[0] == -0.5 and not table[:, 2].any()
    assert len(np.unique(table[:, 1])) == 50 and np.abs(table[:, 1]).max() <= 1


def test_ids_that_never_occur_have_rows_of_zeros():
    table = owned_table(np.array([1, 4]), np.array([0, 1]), 2, np.random.default_rng(0))
    assert table.shape == (5, 2) and not table[[0, 2, 3]].any() and table[4, 0] == 0.0


def test_places_are_silent_along_what_is_read():
    rng = np.random.default_rng(0)
    silent = rng.normal(size=5)
    places = random_places(7, 2.0, silent, rng)
    assert places.shape == (7, 5) and np.abs(places @ silent).max() < 1e-14
    assert 0.5 < np.sqrt((places**2).sum(1).mean()) < 4
    assert random_places(3, 1.0, np.ones(1), rng).all()

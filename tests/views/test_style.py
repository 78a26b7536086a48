import matplotlib
import numpy as np
import pytest
from PIL import Image

from headsmith.records.authorship import ours
from headsmith.refusal import Refusal
from headsmith.views.style import PALETTE, figure, loglog, save


def test_saved_figures_are_whole_png_files_with_the_same_bytes(tmp_path):
    def draw(name):
        fig, axes = figure(width=2, height=1.5)
        loglog(axes, [1e-2, 1e-4, 0.0], [4, 9, 3], "keys")
        axes.legend()
        return save(fig, tmp_path / name).read_bytes()

    first = draw("a.png")
    assert first.startswith(b"\x89PNG") and first.endswith(b"IEND\xaeB`\x82")
    assert draw("b.png") == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_few_colours_are_fewer_bytes_of_the_same_picture_and_still_ours(tmp_path):
    fig, axes = figure(width=3, height=2)
    for k in range(8):
        axes.plot([0, 1, 2], [k, k * k % 5, 3], label=str(k))
    full, few = (save(fig, tmp_path / f"{n}.png", n) for n in (None, 64))
    assert few.stat().st_size < 0.6 * full.stat().st_size and ours(few)
    a, b = (np.asarray(Image.open(path).convert("RGB"), dtype=float) for path in (full, few))
    assert a.shape == b.shape and np.abs(a - b).mean() < 2
    assert save(fig, few, 64) == few  # a picture of ours may be replaced


def test_loglog_leaves_out_what_has_no_logarithm():
    _, axes = figure()
    loglog(axes, [1.0, 0.0, 10.0, 5.0], [2.0, 3.0, 4.0, -1.0])
    [line] = axes.get_lines()
    assert list(line.get_xdata()) == [1.0, 10.0] and list(line.get_ydata()) == [2.0, 4.0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert line.get_color() == PALETTE[0]


def test_the_users_own_settings_stay(tmp_path):
    before = dict(matplotlib.rcParams)
    fig, _ = figure()
    save(fig, tmp_path / "f.png")
    assert dict(matplotlib.rcParams) == before


def test_a_picture_replaces_a_picture_of_ours_and_nothing_else(tmp_path):
    save(figure()[0], tmp_path / "f.png")
    save(figure(2)[0], tmp_path / "f.png")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n of a wedding")
    with pytest.raises(Refusal, match=r"photo.png was not written by headsmith"):
        save(figure()[0], tmp_path / "photo.png")
    assert (tmp_path / "photo.png").read_bytes().endswith(b"wedding")

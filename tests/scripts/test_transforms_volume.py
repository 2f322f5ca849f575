"""Sections, grids and surfaces: sides are tested with a mark at a known place in the patient."""

import numpy as np
import pytest

from medgen_scripts.transforms import volume


@pytest.fixture
def marked() -> np.ndarray:
    """20 x 30 x 40, filled sections 4 to 34, with a mark far to the right, the front and the top of the patient."""
    block = np.zeros((20, 30, 40), dtype=np.uint8)
    block[5:15, 5:25, 4:35] = 100
    block[17, 27, 33] = 255
    return block


def test_sections_are_placed_between_the_first_and_the_last_that_is_not_empty(marked):
    assert volume.section_indices(marked, volume.PROJECTION_FRACTIONS) == [12, 19, 26, 34]
    assert volume.section_indices(marked, volume.RECONSTRUCTION_FRACTIONS) == [10, 16, 22, 28]
    with pytest.raises(ValueError, match="every section of the volume is empty"):
        volume.section_indices(np.zeros((2, 2, 2), dtype=np.uint8), (0.5,))


def test_sections_follow_the_radiological_convention(marked):
    # Right at the image's left, anterior up.
    assert np.argwhere(volume.axial(marked, 33) == 255).tolist() == [[2, 2]]
    assert volume.axial(marked, 33).shape == (30, 20)
    # Right at the left, superior up.
    assert np.argwhere(volume.coronal(marked, 27) == 255).tolist() == [[6, 2]]
    # Anterior at the left, superior up.
    assert np.argwhere(volume.sagittal(marked, 17) == 255).tolist() == [[6, 2]]


def test_grid_has_a_labelled_bar_above_each_section(marked):
    sections = [volume.axial(marked, index) for index in (10, 16, 22, 28)]
    grid = volume.labelled_grid(sections, ["20 %", "40 %", "60 %", "80 %"])
    assert grid.shape == (2 * (30 + 14), 2 * 20, 3)
    assert np.array_equal(grid[14:44, 20:40, 0], sections[1])
    assert grid[:14, :20].any()
    with pytest.raises(ValueError, match="one label a section"):
        volume.labelled_grid(sections, ["20 %"])


def test_surface_shades_a_ball_brightest_in_its_middle_and_within_its_outline():
    x, y, z = np.indices((60, 60, 60)) - 30
    ball = ((x * x + y * y + z * z) < 20**2).astype(np.uint8) * 200
    for side in volume.SIDES:
        seen = volume.surface(ball, side, threshold=100)
        assert (seen > 0).sum() == pytest.approx(np.pi * 400, rel=0.05)
        middle = seen[28:33, 28:33].mean()
        assert middle == seen.max() or middle > seen[seen > 0].mean() * 1.2


@pytest.mark.parametrize(
    ("side", "row", "column"),
    [
        ("left", "top", "left"),  # seen from the left: superior up, anterior at the left
        ("superior", "top", "right"),  # from above: anterior up, the patient's right at the right
        ("anterior", "top", "left"),  # from the front: superior up, the patient's right at the left
    ],
)
def test_surface_shows_a_corner_where_that_view_has_it(side, row, column):
    block = np.zeros((40, 40, 40), dtype=np.uint8)
    # At the right, front and top of the patient; thick, so that smoothing leaves it.
    block[26:34, 26:34, 26:34] = 255
    rows, columns = np.nonzero(volume.surface(block, side))
    assert (rows.mean() < 20) == (row == "top")
    assert (columns.mean() < 20) == (column == "left")


def test_surface_leaves_fragments_out():
    block = np.zeros((40, 40, 40), dtype=np.uint8)
    block[4:24, 4:24, 4:24] = 255
    fragment = block.copy()
    fragment[30:36, 30:36, 30:36] = 255
    for side in volume.SIDES:
        assert np.array_equal(volume.surface(fragment, side), volume.surface(block, side))
    assert volume.surface(np.zeros_like(block), "left").max() == 0


def test_surface_names_the_sides_it_knows(marked):
    with pytest.raises(ValueError, match="left, superior, anterior; got 'below'"):
        volume.surface(marked, "below")

"""The grid's labels, confirmed by running each case: see `tests.grid.confirm`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.grid.cases import Case, all_cases
from tests.grid.defects import DEFECTS

torch = pytest.importorskip("torch", reason="the grid's labels are confirmed by running them with torch")

NAMES = ("sound", *dict.fromkeys(f"{defect.code} {defect.phrase}" for defect in DEFECTS))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tiny tensors: threads only get in the way."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
    torch.use_deterministic_algorithms(False)


def _of(name: str) -> list[Case]:
    """Every second case of a defect: a label hangs on the defect, and these cover its structures as well."""
    return [case for case in all_cases() if case.defect == name][::2]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_running_it_confirms_the_label(name: str) -> None:
    """Sound cases agree with the reference on every probe; a defect shows on the probe made for it."""
    from tests.grid.confirm import confirmed

    wrong = [f"{case.id}\n{why}\n{case.text}" for case in _of(name) if (why := confirmed(case))]
    assert not wrong, f"{len(wrong)} of {len(_of(name))} labels are wrong, such as\n" + "\n".join(wrong[:2])


def test_the_grid_is_large_enough() -> None:
    """A thousand sound cases, three thousand with a defect, none twice."""
    cases = all_cases()
    assert sum(not case.codes for case in cases) >= 1000
    assert sum(bool(case.codes) for case in cases) >= 3000
    assert len({case.id for case in cases}) == len(cases) == len({case.text for case in cases})

"""The bench: sound norms match, each broken one is told by the probe that explains it."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="the verifier runs norms with torch")

from normlint.verify.bench.effective_eps import fit, rows  # noqa: E402
from normlint.verify.bench.judge import judge  # noqa: E402
from normlint.verify.bench.measure import elementwise, row_gain  # noqa: E402
from normlint.verify.bench.probes import FP32, HALVES, PLAIN, adapted  # noqa: E402
from normlint.verify.bench.reference import Reference  # noqa: E402
from normlint.verify.job import ADDED, FLOOR_OF_ROOT, OUTSIDE  # noqa: E402
from tests.verify.judging import BROKEN, L2, LLAMA, MS, RMS, SOUND, ClassSubject, subject  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tiny tensors: threads only get in the way."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_norm_matches(name: str, seed: int) -> None:
    found = judge(SOUND[name], seed=seed)
    assert [(p.probe, p.dtype, p.message) for p in found.probes if not p.passed] == []
    assert (found.status, found.reason) == ("match", "")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_norm_is_reported_by_what_explains_it(name: str) -> None:
    made, status, words = BROKEN[name]
    found = judge(made)
    assert found.status == status
    assert re.search(words, found.reason), found.reason
    assert status == "skipped" or (found.worst is not None and not found.worst.passed)


NO_CAUSE = {
    "an RMSNorm less its mean does not overflow": (
        "h = h - h.mean(-1, keepdim=True); ",
        "-1",
        "large",
        "fp16",
        "overflows",
    ),
    "beside a large mean, that of |x| is the root mean square": ("", "(-2, -1)", "offset", "fp32", "the mean of"),
}


@pytest.mark.parametrize(("first", "axes", "probe", "dtype", "cause"), NO_CAUSE.values(), ids=NO_CAUSE)
def test_a_wrong_output_is_given_no_cause_that_did_not_make_it(
    first: str, axes: str, probe: str, dtype: str, cause: str
) -> None:
    scale = f"torch.rsqrt(h.pow(2).mean({axes}, keepdim=True) + self.eps)"
    found = judge(subject(f"h = x.float(); {first}return (h * {scale}).type_as(x) * self.weight"))
    (one,) = [each for each in found.probes if (each.probe, each.dtype) == (probe, dtype)]
    assert "output is off" in one.message
    assert cause not in one.message


@pytest.mark.parametrize(
    ("name", "form", "value"),
    [
        ("LLaMA's: cast before the gain", "added", 1e-6),
        ("torch.nn.LayerNorm", "added", 1e-5),
        ("F.normalize in fp32 times √d", "floor of the root", 1e-12),
        ("eps beside torch's own norm", "added to the root", 1e-6),
        ("eps added to the sum", "added", 1e-6),
        ("an L2 norm without eps, in fp32", "", None),
    ],
)
def test_the_eps_that_acts_is_read_off(name: str, form: str, value: float | None) -> None:
    found = judge(SOUND[name])
    assert (found.eps_form, found.effective_eps) == (form, value)


def test_an_eps_that_nobody_states_is_the_one_that_acts() -> None:
    made = subject(
        f"h = x.float(); return (h * torch.rsqrt({MS} + 3e-6)).type_as(x) * self.weight",
        takes_eps=False,
        extra="self.eps = None",
    )
    found = judge(made)
    assert (found.status, found.given_eps) == ("match", None)
    assert found.effective_eps == pytest.approx(3e-6, rel=1e-3)


def test_a_row_of_zeros_that_an_l2_norm_makes_nan_is_reported_and_skipped() -> None:
    found = judge(SOUND["an L2 norm without eps, in fp32"])
    told = {p.probe: p.message for p in found.probes if p.message}
    assert told["zero row"] == "a row of zeros gives NaN"


def test_an_empty_input_that_is_refused_is_reported_and_skipped() -> None:
    found = judge(SOUND["no rows at all are refused"])
    assert [p.message for p in found.probes if p.probe == "empty"] == ["fp32 empty input: raises AssertionError"]


def test_only_the_asked_dtypes_are_tried() -> None:
    found = judge(BROKEN["no upcast"][0], dtypes=(torch.float32,))
    assert found.status == "match"
    assert {p.dtype for p in found.probes} == {"fp32"}


def test_a_seed_gives_the_same_figures_again_and_another_others() -> None:
    made = SOUND["LLaMA's: cast before the gain"]
    assert judge(made, seed=4) == judge(made, seed=4)
    assert judge(made, seed=4) != judge(made, seed=5)


def test_the_random_state_and_the_warnings_of_the_caller_stay() -> None:
    torch.manual_seed(3)
    want = torch.rand(1)
    torch.manual_seed(3)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        judge(BROKEN["dropout"][0])
    assert torch.equal(torch.rand(1), want)
    assert raised == []
    assert torch.get_deterministic_debug_mode() == 0


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    judge(BROKEN["a print"][0])
    assert capsys.readouterr().out == ""


def test_a_verdict_without_a_failure_can_be_written_as_json() -> None:
    found = judge(SOUND["torch.nn.RMSNorm"])
    assert json.loads(json.dumps([p.error for p in found.probes], allow_nan=False))


def test_a_name_that_is_missing_on_one_path_only_is_no_match() -> None:
    made = subject("y = helper(x) if x.dtype == torch.float16 else x; " + LLAMA)
    assert (judge(made).status, judge(made).reason) == ("skipped", "needs helper")


def test_a_dtype_that_the_device_lacks_is_left_out() -> None:
    text = """if x.dtype == torch.bfloat16: raise RuntimeError("\\"rsqrt\\" not implemented for 'BFloat16'"); """
    found = judge(subject(text + LLAMA))
    assert found.status == "match"
    assert {p.dtype for p in found.probes} == {"fp32", "fp16"}


@pytest.mark.parametrize("form", [ADDED, OUTSIDE, FLOOR_OF_ROOT])
@pytest.mark.parametrize("eps", [1e-12, 1e-8, 1e-6, 1e-5, 1e-3])
def test_form_and_value_of_eps_fit_the_reference_itself(form: str, eps: float) -> None:
    x, direction = rows(16, layer=False, device="cpu", g=torch.Generator().manual_seed(0))
    found = fit(Reference("rms", form, eps)(x.double()).float(), direction)
    assert found is not None
    assert found.form == form
    assert found.value == pytest.approx(eps, rel=1e-5)


def test_what_is_no_norm_fits_no_eps() -> None:
    x, direction = rows(16, layer=False, device="cpu", g=torch.Generator().manual_seed(0))
    assert fit(x**2, direction) is None


@pytest.mark.parametrize(
    ("kind", "theirs"),
    [
        ("rms", lambda x: torch.nn.functional.rms_norm(x, x.shape[-1:], eps=1e-3)),
        ("layer", lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:], eps=1e-3)),
        ("l2", lambda x: torch.nn.functional.normalize(x, dim=-1)),
    ],
)
def test_the_reference_is_torchs_in_fp64(kind: str, theirs: object) -> None:
    x = torch.randn(7, 24, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    eps = 0.0 if kind == "l2" else 1e-3
    assert torch.allclose(Reference(kind, eps=eps)(x), theirs(x), rtol=1e-13, atol=1e-13)  # type: ignore[operator]


def test_an_error_is_measured_in_units_of_the_dtype() -> None:
    ref = torch.tensor([1.0, -2.0], dtype=torch.float64)
    y = ref.half()
    y[1] += y[1] * 3 * torch.finfo(torch.float16).eps
    assert elementwise(y, ref, ref.abs()) == pytest.approx(3, rel=1e-3)
    assert row_gain(ref[None].half(), ref[None]) == 0.0
    assert elementwise(torch.full((2,), float("nan")), ref, ref.abs()) == float("inf")


def test_cases_follow_the_sizes_and_ranks_of_the_norm() -> None:
    shapes = {case.name: made.shape for case in (PLAIN, *FP32) if (made := adapted(case, (64,), (4,)))}
    assert shapes["plain"] == (3, 1, 5, 64)
    assert "one row" not in shapes
    assert "square" not in shapes
    assert "cube" not in shapes  # of 64⁴ elements
    assert shapes["four axes"] == (2, 3, 4, 64)
    assert adapted(PLAIN, None, (2,)) == replace(PLAIN, shape=(15, 16))
    assert all(case.extreme for case in HALVES if case.dtype == torch.float16)


def test_a_norm_that_cannot_be_built_is_skipped_with_its_need() -> None:
    class Unbuilt(ClassSubject):
        def make(self, d, **more):
            from normlint.verify.subject import CannotBuildError

            raise CannotBuildError("a config")

    found = judge(Unbuilt(None, RMS))
    assert (found.status, found.reason, found.probes) == ("skipped", "needs a config", ())


def test_an_l2_norm_that_leaves_its_eps_unused_is_reported() -> None:
    found = judge(subject("h = x.float(); return (h / h.norm(dim=-1, keepdim=True)).type_as(x)", L2))
    assert (found.status, found.reason) == ("wrong", "eps=0.3 is passed, but has no effect")


@pytest.mark.parametrize("name", ["one scale for the whole batch", "no root", "a gain that is never applied"])
def test_an_eps_that_happens_to_fit_what_is_no_norm_is_not_reported(name: str) -> None:
    found = judge(BROKEN[name][0])
    assert (found.effective_eps, found.eps_form) == (None, "")

"""The documents that normlint was asked for with: what running their norms shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from normlint.text.verdict import MATCH, WRONG, Verdict
from normlint.verify.guard.run import Verifier
from tests.rules.test_seeds import SEEDS
from tests.verify.verified import jobs_of, verdicts_of

DTYPES = {"fp32", "fp16", "bf16"}
WITHOUT_CAST = "the pre-norm block without its cast"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[str, Verdict]]]:
    """(qualname, verdict) of each norm, by document; one verifier for all."""
    paths = {name: SEEDS / name for name in ("review.md", "notebook.ipynb", "article.md", "prenorm.md")}
    paths[WITHOUT_CAST] = without_cast(tmp_path_factory.mktemp("seeds"))
    jobs = [(name, norm.qualname, job) for name, path in paths.items() for norm, job in jobs_of(path)]
    with Verifier(device="cpu") as verifier:
        answers = verdicts_of(verifier, [job for *_, job in jobs])
    found: dict[str, list[tuple[str, Verdict]]] = {name: [] for name in paths}
    for (name, qualname, _), verdict in zip(jobs, answers, strict=True):
        found[name].append((qualname, verdict))
    return found


def without_cast(folder: Path) -> Path:
    """What the document warns of: the same class, squaring in fp16."""
    text = (SEEDS / "prenorm.md").read_text(encoding="utf-8")
    cast = "x = x.to(torch.float32)"
    assert cast in text
    path = folder / "prenorm.md"
    path.write_text(text.replace(cast, "pass"), encoding="utf-8")
    return path


def test_the_reviews_norm_is_wrong_by_its_values_and_by_its_tokens(verdicts) -> None:
    name, verdict = verdicts["review.md"][0]
    failed = {probe.probe for probe in verdict.probes if not probe.passed}
    assert (name, verdict.status) == ("forward", WRONG)
    assert "token" in verdict.reason
    assert {"small", "token independence"} <= failed


def test_the_reviews_correction_matches(verdicts) -> None:
    name, verdict = verdicts["review.md"][1]
    assert (name, verdict.status, verdict.reason) == ("forward", MATCH, "")


@pytest.mark.parametrize("document", ["notebook.ipynb", "article.md", "prenorm.md"])
def test_the_class_of_a_document_matches_in_every_dtype(document: str, verdicts) -> None:
    name, verdict = verdicts[document][0]
    assert (name, verdict.status, verdict.reason) == ("RMSNorm.forward", MATCH, "")
    assert {probe.dtype for probe in verdict.probes} >= DTYPES


def test_the_overflow_that_the_last_document_warns_of_is_seen_in_fp16_alone(verdicts) -> None:
    """300² is 90 000, more than 65 504."""
    ((_, verdict),) = verdicts[WITHOUT_CAST]
    assert verdict.status == WRONG
    assert "fp16" in verdict.reason
    assert "65504" in verdict.reason
    assert all(probe.passed for probe in verdict.probes if probe.dtype == "fp32")

"""What surrounds the code: workflows, forms and pages agree with the project they speak of."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import normlint

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    toml = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return toml.loads(text("pyproject.toml"))["project"]


def workflow(name: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((GITHUB / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))


def commands(loaded: dict[str, Any]) -> list[str]:
    return [step["run"] for job in loaded["jobs"].values() for step in job.get("steps", ()) if "run" in step]


SCHEMAS = {
    "github-workflows": ("workflows/*.yml", 2),
    "dependabot": ("dependabot.yml", 1),
    "github-issue-forms": ("ISSUE_TEMPLATE/[0-9]*.yml", 4),
    "github-issue-config": ("ISSUE_TEMPLATE/config.yml", 1),
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_what_github_reads_follows_its_schema(schema: str) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema brings the schemas")
    pattern, fewest = SCHEMAS[schema]
    files = [str(path) for path in GITHUB.glob(pattern)]
    assert len(files) >= fewest
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", ["ci", "release"])
def test_a_workflow_may_do_little_and_runs_what_a_hash_names(name: str) -> None:
    loaded = workflow(name)
    assert loaded["permissions"] == {"contents": "read"}
    more = {job: one["permissions"] for job, one in loaded["jobs"].items() if "permissions" in one}
    wanted = {"publish": {"id-token": "write"}, "announce": {"contents": "write"}} if name == "release" else {}
    assert more == wanted
    steps = [step for job in loaded["jobs"].values() for step in job.get("steps", ()) if "uses" in step]
    assert [step["uses"] for step in steps if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])] == []
    assert all(step["with"]["persist-credentials"] is False for step in steps if "checkout" in step["uses"])


def test_the_extension_is_built_and_attached_to_a_release_and_to_nothing_else() -> None:
    jobs = workflow("release")["jobs"]
    steps = {name: jobs[name]["steps"] for name in ("extension", "publish", "announce")}
    assert any(step.get("run", "").endswith("npm run package") for step in steps["extension"])
    assert steps["extension"][-1]["with"]["path"] == "editors/vscode/*.vsix"
    assert steps["publish"][0]["with"]["name"] == "dist"  # what goes to PyPI
    assert "name" not in steps["announce"][0]["with"]
    assert "dist/*" in steps["announce"][1]["run"]


def test_each_python_that_is_promised_is_tested_on_each_system() -> None:
    matrix = workflow("ci")["jobs"]["tests"]["strategy"]["matrix"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    assert matrix["python"] == promised
    assert project()["requires-python"] == f">={promised[0]}"
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    packaged = next(
        step["with"]["python-version"]
        for step in workflow("ci")["jobs"]["packages"]["steps"]
        if "setup-python" in step.get("uses", "")
    )
    assert sorted(packaged.split()) == promised


def test_the_tests_are_run_as_the_readme_says() -> None:
    (command,) = re.findall(r"^python -m pip install -c constraints.txt .*$", text("README.md"), re.MULTILINE)
    tests = [step.get("run") for step in workflow("ci")["jobs"]["tests"]["steps"]]
    assert command in tests
    assert command in text("CONTRIBUTING.md")


def test_the_extras_and_scripts_that_are_named_are_there() -> None:
    named = [*commands(workflow("ci")), *commands(workflow("release")), *map(text, PAGES)]
    extras = {
        one
        for words in named
        for found in re.findall(r"'(?:\.|normlint)\[([\w,]+)\]'", words)
        for one in found.split(",")
    }
    scripts = {found for words in named for found in re.findall(r"python (scripts/\w+\.py)", words)}
    assert extras <= set(project()["optional-dependencies"])
    assert scripts
    assert [one for one in scripts if not (ROOT / one).exists()] == []


TAGS = {
    "the version": (f"v{normlint.__version__}", f"## [{normlint.__version__}] - 2026-12-01", 0),
    "another version": ("v0.0.9", "## [0.0.9] - 2026-12-01", 1),
    "the version without its changes": (f"v{normlint.__version__}", "## [Unreleased]", 1),
}


@pytest.mark.parametrize(("tag", "changes", "status"), TAGS.values(), ids=TAGS)
def test_a_release_goes_on_only_with(tag: str, changes: str, status: int, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None or sys.platform == "win32":
        pytest.skip("the step is for bash on Linux")
    (step,) = [one for one in commands(workflow("release")) if "GITHUB_REF_NAME" in one and "__version__" in one]
    (tmp_path / "normlint").mkdir()
    shutil.copy(ROOT / "normlint" / "__init__.py", tmp_path / "normlint")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changes}\n", encoding="utf-8")
    environment = {**os.environ, "GITHUB_REF_NAME": tag}
    command = [bash, "-eo", "pipefail", "-c", step]
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode == status


def test_only_the_publishing_job_may_publish_and_it_waits_for_the_tests() -> None:
    jobs = workflow("release")["jobs"]
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    assert set(jobs["publish"]["needs"]) == {"ci", "build", "extension"}
    assert workflow("release")["permissions"] == workflow("ci")["permissions"] == {"contents": "read"}


def test_the_readme_s_links_hold_where_the_package_is_shown() -> None:
    links = re.findall(r"\]\(([^)]+)\)", text("README.md"))
    assert links
    assert [link for link in links if not link.startswith(("#", "https://"))] == []


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_links_to_in_the_repository_is_there(page: str) -> None:
    ours = r"\]\((?:https://github\.com/normlint/normlint/blob/main/)?([\w./-]+\.\w+)(?:#[\w-]+)?\)"
    assert [one for one in re.findall(ours, text(page)) if not (ROOT / one).exists()] == []


RULE = """\
import sys
import normlint.rules, page
from normlint.rules.registry import RULES
from tests.rules.test_rules import examples, reported
shown = list(examples([RULES["NRM603"]]))
assert [len(one.expected) for one in shown] == [1, 0]
assert [reported(one) for one in shown] == [one.expected for one in shown]
print("as announced")
"""

FIX = """
import page
from normlint.fixes.tree import Tree
from normlint.rules import analyse
from normlint.rules.registry import RULES
from normlint.text.edit import apply
from tests.rules.test_rules import examples
text = next(one.text for one in examples([RULES["NRM507"]]) if one.expected)
norm = analyse(text).norms[0]
(gain,) = {gain.param for way in norm.computations for gain in way.gains}
fix = page.unpinned(norm, gain, Tree(text))
assert apply(text, fix.edits) == text.replace("ones(dim, dtype=torch.bfloat16)", "ones(dim)", 1)
print("as announced")
"""


def test_the_rule_that_shows_how_a_rule_is_made_is_one(tmp_path: Path) -> None:
    as_announced(tmp_path, 0, RULE)


def test_the_fix_that_shows_how_a_fix_is_made_is_one(tmp_path: Path) -> None:
    as_announced(tmp_path, 1, FIX)


def as_announced(tmp_path: Path, at: int, run: str) -> None:
    """The page's block of that number does what `run` expects of it."""
    block = re.findall(r"```py\n(.*?)```", text("CONTRIBUTING.md"), re.DOTALL)[at]
    (tmp_path / "page.py").write_text(block.replace("~~~", "```"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-c", run]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "as announced\n", ran.stderr


def test_the_pages_name_modules_and_functions_that_are_there() -> None:
    said = "".join(map(text, PAGES))
    for name in set(re.findall(r"normlint\.(check_\w+|fix_\w+|verify_\w+|list_\w+)", said)):
        assert name in normlint.__all__
    for path in set(re.findall(r"`((?:normlint|tests|fixtures|scripts)/[\w/]+(?:\.py)?)`", said)):
        assert (ROOT / path).exists(), path
    assert importlib.util.find_spec("normlint.testing") is not None

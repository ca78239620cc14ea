"""normlint finds hand-written RMSNorm and LayerNorm code that computes something else."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from normlint.api import check_paths, check_source, fix_source, list_norms, list_rules, verify_source
    from normlint.engine.settings import ConfigError
    from normlint.values import (
        Applicability,
        Edit,
        Finding,
        Fix,
        Fixed,
        Norm,
        Probe,
        Rule,
        SourceError,
        Verdict,
    )

__version__ = "0.1.0"
__all__ = [
    "Applicability",
    "ConfigError",
    "Edit",
    "Finding",
    "Fix",
    "Fixed",
    "Norm",
    "Probe",
    "Rule",
    "SourceError",
    "Verdict",
    "__version__",
    "check_paths",
    "check_source",
    "fix_source",
    "list_norms",
    "list_rules",
    "verify_source",
]

if not TYPE_CHECKING:  # a type checker sees the names above, and no others

    def __getattr__(name):  # noqa: ANN001, ANN202
        """The public names come with their first use: the command starts without them."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from normlint import api, values

        home = values if hasattr(values, name) else api
        return globals().setdefault(name, getattr(home, name))

    def __dir__():  # noqa: ANN202
        return sorted({*globals(), *__all__})

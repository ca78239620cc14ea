"""Lint a table of sources with Ray Data: Parquet in, Parquet out, on as many cores or machines as Ray is given.

    python -m pip install 'normlint[ray]'
    python lint_parquet.py SOURCES FINDINGS [--path path] [--content content]

SOURCES: a Parquet file, a folder of them, or a bucket. FINDINGS: a folder, which gets a row for each finding, and one
with `error` alone for each source that can't be linted. A source without findings gets none.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import ray

import normlint

TEXTS = ("path", "code", "name", "message", "severity", "norm", "error")
SCHEMA = pa.schema(
    [*((name, pa.string()) for name in TEXTS), ("cell", pa.int32()), ("line", pa.int32()), ("column", pa.int32())]
)


def findings(path: str, content: object) -> Iterator[dict[str, Any]]:
    """The rows that come of one source."""
    try:
        text = content.decode() if isinstance(content, bytes) else content
        if not isinstance(text, str):
            raise TypeError("no text")
        for one in normlint.check_source(text, path):
            yield {name: getattr(one, name, None) for name in SCHEMA.names}
    except (normlint.SourceError, TypeError, UnicodeDecodeError) as error:
        yield {"path": path, "error": getattr(error, "reason", "") or str(error)}


def lint(batch: pa.Table, path: str = "path", content: str = "content") -> pa.Table:
    """The rows that come of a batch of sources."""
    sources = zip(batch[path].to_pylist(), batch[content].to_pylist(), strict=True)
    rows = [row for name, text in sources for row in findings(str(name), text)]
    return pa.Table.from_pylist(rows, SCHEMA)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources")
    parser.add_argument("findings")
    parser.add_argument("--path", default="path", help="the column with the paths; their endings say what a text is")
    parser.add_argument("--content", default="content", help="the column with the texts")
    options = parser.parse_args()
    began = time.monotonic()
    table = ray.data.read_parquet(options.sources, columns=[options.path, options.content])
    rows = table.count()
    work = partial(lint, path=options.path, content=options.content)
    table.map_batches(work, batch_format="pyarrow", batch_size=256).write_parquet(options.findings)
    seconds = time.monotonic() - began
    print(f"{rows} rows in {seconds:.1f} s: {rows / seconds:.0f} rows/s")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""python -m tests.core.record DIR...: measures trees of open-gpu-kernel-modules anew.

Writes data/measured.json. Versions that are recorded and not given stay as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.core import facts
from tests.core.source import NotAsExpected, Tree


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    kept = facts.recorded_versions() if facts.MEASURED.exists() else []
    known = {version: facts.of_record(version) for version in kept}
    for name in arguments:
        try:
            found = facts.of_tree(Tree(Path(name).resolve()))
        except NotAsExpected as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        known[found.version] = found
        print(found.version, flush=True)
    versions = sorted(known, key=facts.order)
    content = facts.write(known[version] for version in versions)
    facts.save(content)
    print(f"{len(versions)} versions, {len(set(content['versions'].values()))} of them differ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

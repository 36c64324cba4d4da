"""Makes every package of a release of the binary in target/release, and has each judged by its tools. `tests/run packages` installs these,
builds the binary, and calls this.

    tests/packages/main.py [CHECK...]        all checks, or some, by their names below

Each check prints what its tools said. It ends at the first that fails. Packages are left in target/packages/release.
"""

import sys
import time

import binary
import chart
import debian
import image
import page
import release
import sbom
import sources
from tools import Wrong

CHECKS = {
    "workflows": sources.workflows,
    "compose": sources.compose,
    "chart": chart.check,
    "binary": binary.check,
    "sbom": sbom.check,
    "debian": debian.check,
    "image": image.check,
    "release": release.check,
    "page": page.check,
}


def main():
    for name in sys.argv[1:] or CHECKS:
        start = time.monotonic()
        print(f"\n● {name}", flush=True)
        try:
            CHECKS[name]()
        except Wrong as error:
            raise SystemExit(f"✗ {name}: {error}") from None
        print(f"● {name}: passed in {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()

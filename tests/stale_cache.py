"""Proves that the histories recorded by the step `faults` show an error of the service: builds a copy of the repository that
serves cached items without comparing revisions, and expects that the history of an item is refused.

    tests/stale_cache.py
"""

import os
import shutil
import subprocess
import sys

import documents

HOME = documents.ROOT / "target/tests-run/stale-cache"
COMPARISON = ".filter(|(cached_at, _)| *cached_at == state)"
REFUSED = "no order explains all answers"


def main():
    folder = HOME / "copy"
    shutil.rmtree(HOME, ignore_errors=True)
    folder.mkdir(parents=True)
    documents.copy_repository(HOME, folder)
    sources = [file for file in (folder / "adapters/storage/src").rglob("*.rs") if COMPARISON in file.read_text()]
    text = "".join(file.read_text() for file in sources)
    if text.count(COMPARISON) != 1:
        sys.exit(f"adapters/storage has `{COMPARISON}` {text.count(COMPARISON)} times, not once: name its new form here")
    sources[0].write_text(text.replace(COMPARISON, ""))
    subprocess.run(["cargo", "build", "--locked", "--package", "bootstrap"], cwd=folder, check=True)
    binary = folder / documents.BUILT_FOR_TESTS / documents.BINARY.name
    test = ["cargo", "test", "--locked", "--workspace", "--test", "faults", "recorded_histories"]
    settings = {"PROPOSAL_SERVICE_BIN": str(binary), "TEST_HISTORY_SECONDS": "10"}
    judged = subprocess.run(test, cwd=documents.ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True, check=False)
    if judged.returncode == 0 or REFUSED not in judged.stdout:
        sys.exit(f"{judged.stdout}\nthe histories of a service with stale cache entries are not refused")
    print(judged.stdout[judged.stdout.index(REFUSED) :].partition("\nitem ")[0])
    shutil.rmtree(HOME)


main()

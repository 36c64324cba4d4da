"""What a release offers for download, with its checksums; in a workflow, their provenance is attested."""

import hashlib
import shutil

from helm_python import chart as helm

from tools import BINARY, ROOT, WORK, fresh, passed, require, run, sole, version


def check():
    folder = fresh("release")
    name = f"proposal-service-{version()}-x86_64-linux-gnu"
    epoch = run("git", "log", "-1", "--format=%ct", cwd=ROOT, quiet=True).strip()
    tar = ["tar", "--create", "--sort=name", f"--mtime=@{epoch}", "--owner=0", "--group=0", "--numeric-owner"]
    inside = fresh("archive") / name
    inside.mkdir()
    shutil.copy(BINARY, inside)
    for file in ("README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"):
        shutil.copy(ROOT / file, inside)
    for part in ("man", "completions"):
        shutil.copytree(WORK / part, inside / part)
    run(*tar, "--gzip", "--file", folder / f"{name}.tar.gz", "--directory", inside.parent, name, quiet=True)
    run(*tar, "--file", folder / "proposal-service-image.tar", "--directory", WORK / "image", ".", quiet=True)
    shutil.copy(sole(WORK / "deb", "*.deb"), folder)
    shutil.copy(WORK / "sbom/proposal-service.cdx.json", folder)
    helm.package(WORK / "chart/proposal-service", destination=folder)
    files = sorted(folder.iterdir())
    sums = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (folder / "SHA256SUMS").write_text(sums)
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    require(len(files) == 5, f"there are {len(files)} files")
    for file in files:
        passed(f"{file.name}, {file.stat().st_size / 1e6:.1f} MB")

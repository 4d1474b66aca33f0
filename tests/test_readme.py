"""What the README shows works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
KRATZEN = Path(sys.executable).with_name("kratzen")


def test_the_bot_of_the_readme_keeps_the_contract(tmp_path: Path) -> None:
    """It is no longer than fifteen lines, blank ones not counted, and passes every step of the check."""
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 15
    (tmp_path / "brave.py").write_text(code)
    done = subprocess.run(
        [KRATZEN, "bot", "check", "--", "python", "brave.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout


def test_the_commands_of_the_readme_exist() -> None:
    """Every `make` target and every file that the README names is there."""
    text = README.read_text("utf-8")
    makefile = (README.parent / "Makefile").read_text("utf-8")
    for target in re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE):
        assert f"\n{target}:" in makefile, target
    for name in re.findall(r"`((?:docs|proto|tests|engine|arena|tournaments)/[\w./-]*)`", text):
        assert (README.parent / name).exists(), name

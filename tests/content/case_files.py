"""The shared cases, read once. In secrets.jsonl text is base64."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent.parent / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    lines = (CASES / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def decoded(args: dict[str, Any], name: str) -> str:
    if f"{name}_b64" in args:
        return base64.b64decode(args[f"{name}_b64"]).decode("utf-8")
    return str(args.get(name, ""))

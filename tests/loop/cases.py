"""The shared cases of the kinds tool-call, provider and history, by id; `cases.jsonl` is their text."""

from __future__ import annotations

import json
from pathlib import Path

CASES = {
    case["id"]: case
    for case in map(json.loads, Path(__file__).with_name("cases.jsonl").read_text("utf-8").splitlines())
}

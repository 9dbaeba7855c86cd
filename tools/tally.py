# SPDX-License-Identifier: Apache-2.0
"""Counting tests: what passed, failed and was skipped, and the line that says so."""

import os
import re
import sys
import threading

LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def in_ci():
    return os.environ.get("CI", "").lower() in ("true", "1")


class Tally:
    """Safe to use from several threads. `shared` skips are failures where CI=true: there the data has to be there."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0
        self._lock = threading.Lock()

    def ok(self, count=1):
        with self._lock:
            self.passed += count

    def fail(self, name, message=""):
        with self._lock:
            self.failed += 1
            text = f"FAILED {name}"
            if message:
                text += "\n    " + message.rstrip().replace("\n", "\n    ")
            print(text, flush=True)

    def skip(self, name, why, shared=False):
        if shared and in_ci():
            self.fail(name, f"{why} (a skip is a failure where CI=true)")
            return
        with self._lock:
            self.skipped += 1
            print(f"skipped {name}: {why}", flush=True)

    def add(self, passed, failed, skipped):
        with self._lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped

    def line(self):
        text = f"{self.passed} passed, {self.failed} failed"
        return text + f", {self.skipped} skipped" if self.skipped else text

    def finish(self):
        """Prints the line and ends the process: 0 only when something passed and nothing failed."""
        sys.stdout.flush()
        print(self.line(), flush=True)
        sys.exit(0 if self.failed == 0 and self.passed > 0 else 1)


def parse_line(text):
    """The counts of a tool's last line, or None."""
    lines = text.rstrip().splitlines()
    found = LAST_LINE.match(lines[-1]) if lines else None
    return tuple(int(n or 0) for n in found.groups()) if found else None

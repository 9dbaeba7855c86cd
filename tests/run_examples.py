#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every noun and verb answers --help with an example of its own, and the example runs. Trace files that it names are
there: a synthetic week."""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tally import Tally  # noqa: E402

BINARY = pathlib.Path(os.environ.get("COMITY_BINARY", ROOT / "build" / "release" / "comity")).resolve()


def subcommands(text):
    """The names in the "Subcommands:" block of a help text."""
    block = re.search(r"^Subcommands:\n((?:[ \t]+.*\n?)+)", text, re.M)
    return re.findall(r"^ {1,4}([a-z][\w-]*)", block.group(1), re.M) if block else []


def call(command, folder, shell=False):
    env = dict(os.environ, HOME=folder, PATH=f"{BINARY.parent}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    try:
        words = ["bash", "-euo", "pipefail", "-c", command] if shell else command
        done = subprocess.run(words, cwd=folder, env=env, timeout=300, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace")
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return 124, "", "timed out"


MEASURED = """model,heads,hidden,layers,seq,vocab,tp,pp,interleave,gpus,global_batch,microbatch,full_recompute_s,\
seqpar_selective_s
22B,64,6144,48,2048,51200,8,1,1,8,4,4,1.42,1.1
"""


def provide(example, folder):
    """Makes the trace files that the example reads (not the one it writes with >)."""
    week = (pathlib.Path(folder) / "week.csv").read_bytes()
    for name in re.findall(r"(?<![>\w/.-])(?<!> )[\w-]+\.(?:csv|swf)(?:\.gz)?\b", example):
        file = pathlib.Path(folder) / name
        if name == "measured.csv":
            file.write_text(MEASURED)
        elif not file.exists():
            file.write_bytes(gzip.compress(week) if name.endswith(".gz") else week)


def check(tally, words, folder):
    name = f"comity {' '.join(words)}".strip() + " --help"
    status, text, error = call([str(BINARY), *words, "--help"], folder)
    examples = re.findall(r"^\s*Examples?: (.+)$", text, re.M)
    own = " ".join(["comity", *words])
    if status != 0 or not any(own in example for example in examples):
        tally.fail(name, f"exit status {status}; no line \"Example: {own} ...\"\n{error}")
    else:
        tally.ok()
    for example in examples:
        provide(example, folder)
        status, _, error = call(example, folder, shell=True)
        if status == 0:
            tally.ok()
        else:
            tally.fail(f"example: {example}", f"exit status {status}: {error[-800:]}")
    for sub in subcommands(text):
        check(tally, [*words, sub], folder)


def main():
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="comity-examples-") as folder:
        (pathlib.Path(folder) / ".local/share/bash-completion/completions").mkdir(parents=True)
        status, _, error = call(f"'{BINARY}' trace synth sing > week.csv", folder, shell=True)
        if status != 0:
            tally.fail("comity trace synth sing > week.csv", error)
        check(tally, [], folder)
    tally.finish()


if __name__ == "__main__":
    main()

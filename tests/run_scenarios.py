#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tests/scenario/*.toml (schema comity.scenario/1): input, command, expected numbers. tests/scenario/README.md
describes the format. Each case counts as one test. With --update-golden the files in tests/golden are written anew.

    tests/run_scenarios.py [--long] [--update-golden] [NAME...]
"""

import argparse
import base64
import csv
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tally import Tally  # noqa: E402

SCENARIOS = ROOT / "tests" / "scenario"
GOLDEN = ROOT / "tests" / "golden"
# What differs from run to run or from folder to folder, and so is left out of every comparison of whole results.
VOLATILE = {"wall_s", "load_s", "cpu_s", "peak_rss_bytes", "path"}
CASE_KEYS = {"name", "source", "shared", "input", "input_name", "input_base64", "input_command", "input_transform",
             "truncate", "stdin", "generate", "files", "command", "expect", "same", "golden", "timeout_s", "long"}
EXPECT_KEYS = {"path", "value", "tolerance", "above", "below", "ascending", "exit", "stdout_contains",
               "stderr_contains", "stderr_lacks", "stdout_lacks", "stdout_empty", "error", "csv", "where", "column",
               "sum", "rss_below_mb"}


class Wrong(Exception):
    """A scenario file that cannot be used."""


def comity():
    return os.environ.get("COMITY_BINARY", str(ROOT / "build" / "release" / "comity"))


def shared_root():
    return pathlib.Path(os.environ.get("COMITY_SHARED", ROOT.parent / "shared"))


def shared_file(case):
    return shared_root() / "data" / case["shared"] if "shared" in case else None


def load(path):
    """The cases of a file: those of [[case]], each over what stands at the top, or the file itself."""
    with open(path, "rb") as f:
        document = tomllib.load(f)
    if document.pop("schema", None) != "comity.scenario/1":
        raise Wrong("schema must be \"comity.scenario/1\"")
    listed = document.pop("case", None)
    cases = [{**document, **c, "name": f"{document['name']}: {c['name']}"} for c in listed] if listed else [document]
    for case in cases:
        unknown = set(case) - CASE_KEYS | {k for e in case.get("expect", []) for k in set(e) - EXPECT_KEYS}
        missing = [k for k in ("name", "source", "command", "expect") if not case.get(k)]
        if unknown or missing:
            raise Wrong(f"{case.get('name')}: unknown {sorted(unknown)}, missing {missing}")
    return cases


# --- input --------------------------------------------------------------------------------------


def input_bytes(case, folder):
    if "input" in case:
        data = case["input"].encode()
    elif "input_base64" in case:
        data = base64.b64decode(case["input_base64"])
    else:
        words = [w.replace("{shared}", str(shared_file(case))) for w in case["input_command"]]
        done = subprocess.run([comity(), *words], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True)
        if done.returncode != 0:
            raise Wrong(f"input_command: exit status {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
        data = done.stdout
    if case.get("input_transform") == "gzip":
        data = gzip.compress(data, mtime=0)
    return data[:case["truncate"]] if "truncate" in case else data


def prepare(case, folder):
    """Writes the input and the other files; the path of the input, or None when there is none."""
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(text, encoding="utf-8")
    if "shared" in case and "input_command" not in case:
        return shared_file(case)
    if not {"input", "input_base64", "input_command"} & set(case):
        return None
    path = folder / case.get("input_name", "input.csv")
    path.write_bytes(input_bytes(case, folder))
    return path


def feed(stream, generate):
    """Writes head, then `text` again and again up to `bytes` bytes, then tail; stops when nobody reads."""
    block = generate["text"].encode() * max(1, 65536 // len(generate["text"]))
    try:
        stream.write(generate.get("head", "").encode())
        for _ in range(generate["bytes"] // len(block)):
            stream.write(block)
        stream.write(generate.get("tail", "").encode())
        stream.close()
    except (BrokenPipeError, OSError):
        pass


# --- JSON ---------------------------------------------------------------------------------------


def without_duplicates(pairs):
    """An object of a document; a key that is there twice is an error, where json.loads would drop the first one."""
    keys = [key for key, _ in pairs]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise Wrong(f"keys twice in one JSON object: {twice}")
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=without_duplicates)


def check_documents(outcome, folder):
    """Whatever a command printed or left as JSON is JSON, looked into or not."""
    for line in outcome.out.splitlines() if outcome.out.startswith('{"') else []:
        parse(line)
    for name in ("run.json", "summary.json"):
        for path in folder.rglob(name):
            parse(path.read_text(encoding="utf-8"))


# --- running ------------------------------------------------------------------------------------


class Outcome:
    def __init__(self, status, out, err, rss_mb):
        self.status = status
        self.out = out
        self.err = err
        self.rss_mb = rss_mb
        self._result = None

    @property
    def result(self):
        if self._result is None:
            self._result = parse(self.out)
        return self._result

    def error(self):
        """The error document on standard error (the last line that is one)."""
        for line in reversed(self.err.splitlines()):
            if line.startswith('{"error"'):
                return parse(line)["error"]
        raise Wrong("no error document on standard error")


def execute(case, command, folder, path):
    data = str(shared_root() / "data")
    words = [w.replace("{input}", str(path)).replace("{tmp}", str(folder)).replace("{data}", data) for w in command]
    looked_into = any({"path", "ascending", "error"} & set(e) for e in case["expect"]) or {"golden", "same"} & set(case)
    if looked_into and "-o" not in words:
        words += ["-o", "json"]
    generate = case.get("generate")
    source = subprocess.PIPE if generate else open(path, "rb") if case.get("stdin") else subprocess.DEVNULL
    with open(folder / "stdout", "w+b") as out, open(folder / "stderr", "w+b") as err:
        process = subprocess.Popen([comity(), *words], cwd=folder, stdin=source, stdout=out, stderr=err,
                                   env=dict(os.environ, LC_ALL="C.UTF-8", NO_COLOR="1"))
        if generate:
            threading.Thread(target=feed, args=(process.stdin, generate), daemon=True).start()
        killer = threading.Timer(case.get("timeout_s", 120), process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Outcome(process.returncode, out.read().decode(errors="replace"), err.read().decode(errors="replace"),
                       usage.ru_maxrss / 1024)


# --- looking at results -------------------------------------------------------------------------


def lookup(document, path):
    """runs.0.avg_jct_s; runs.fifo.avg_jct_s takes the element whose policy or name is fifo."""
    value = document
    for key in path.split("."):
        if isinstance(value, list):
            if key.isdigit():
                value = value[int(key)]
            else:
                value = next(v for v in value if key in (v.get("policy"), v.get("name")))
        else:
            value = value[key]
    return value


def close(got, want, tolerance):
    if isinstance(want, bool) or isinstance(want, str) or isinstance(got, str):
        return got == want
    return math.isfinite(got) and abs(got - want) <= tolerance + 1e-9


def without_volatile(value):
    if isinstance(value, dict):
        return {k: without_volatile(v) for k, v in value.items() if k not in VOLATILE}
    return [without_volatile(v) for v in value] if isinstance(value, list) else value


def matches(cell, condition):
    """Conditions on a CSV cell: "=text" or "text", "<number", ">number", "<=number", ">=number"."""
    for sign, test in (("<=", float.__le__), (">=", float.__ge__), ("<", float.__lt__), (">", float.__gt__)):
        if condition.startswith(sign):
            return cell != "" and test(float(cell), float(condition[len(sign):]))
    return cell == condition.removeprefix("=")


def csv_value(folder, expect):
    """The cell, or with sum = true the sum of the cells, of the rows that fulfil `where`."""
    with open(folder / expect["csv"], newline="", encoding="utf-8") as f:
        rows = [r for r in csv.DictReader(f) if all(matches(r[k], c) for k, c in expect["where"].items())]
    if expect.get("sum"):
        return sum(float(r[expect["column"]]) for r in rows)
    if len(rows) != 1:
        raise Wrong(f"{len(rows)} rows of {expect['csv']} fulfil {expect['where']}")
    return float(rows[0][expect["column"]])


def check_number(expect, got, what):
    tolerance = expect.get("tolerance", 0)
    if "value" in expect and not close(got, expect["value"], tolerance):
        yield f"{what}: got {got!r}, expected {expect['value']!r}" + (f" +- {tolerance}" if tolerance else "")
    if "above" in expect and not got > expect["above"]:
        yield f"{what}: got {got!r}, expected over {expect['above']!r}"
    if "below" in expect and not got < expect["below"]:
        yield f"{what}: got {got!r}, expected under {expect['below']!r}"


def check_texts(expect, outcome):
    for stream, text in (("stdout", outcome.out), ("stderr", outcome.err)):
        wanted = expect.get(f"{stream}_contains", [])
        for part in [wanted] if isinstance(wanted, str) else wanted:
            if part not in text:
                yield f"{stream} lacks {part!r}: {text[-600:]!r}"
        lacks = expect.get(f"{stream}_lacks", [])
        for part in [lacks] if isinstance(lacks, str) else lacks:
            if part in text:
                yield f"{stream} has {part!r}: {text[-600:]!r}"
    if expect.get("stdout_empty") and outcome.out:
        yield f"stdout is not empty: {outcome.out[:300]!r}"


def check_one(expect, outcome, folder):
    """What is wrong about one [[expect]], as texts."""
    if "path" in expect:
        yield from check_number(expect, lookup(outcome.result, expect["path"]), expect["path"])
    if "csv" in expect:
        what = f"{expect['csv']} {expect['where']} {expect['column']}"
        yield from check_number(expect, csv_value(folder, expect), what)
    if "ascending" in expect:
        values = [lookup(outcome.result, p) for p in expect["ascending"]]
        if not all(a < b for a, b in zip(values, values[1:])):
            yield f"not ascending: {dict(zip(expect['ascending'], values))}"
    if "error" in expect:
        got = outcome.error()
        for key, want in expect["error"].items():
            contained = isinstance(want, str) and want.startswith("~") and want[1:] in str(got.get(key))
            if got.get(key) != want and not contained:
                yield f"error.{key}: got {got.get(key)!r}, expected {want!r} in {got}"
    if "rss_below_mb" in expect and outcome.rss_mb >= expect["rss_below_mb"]:
        yield f"peak memory: got {outcome.rss_mb:.0f} MB, expected under {expect['rss_below_mb']}"
    yield from check_texts(expect, outcome)


def conserved(result):
    """Jobs in = jobs out, whatever else a scenario asks of a replay."""
    for run in result.get("runs", []):
        out = run["finished"] + run["rejected"] + run["unfinished"]
        if run["submitted"] != out:
            yield f"{run['policy']}: {run['submitted']} submitted, but {out} finished, rejected or unfinished"


def check_whole(case, outcome, folder, path, update):
    """same: other commands with the same result. golden: the committed result."""
    got = without_volatile(outcome.result)
    for command in case.get("same", []):
        again = execute(case, command, folder, path)
        if again.status != outcome.status or without_volatile(again.result) != got:
            yield f"{' '.join(command)}: another result: {difference(without_volatile(again.result), got)}"
    if "golden" in case:
        file = GOLDEN / case["golden"]
        if update:
            file.write_text(json.dumps(got, indent=1) + "\n", encoding="utf-8")
        want = json.loads(file.read_text(encoding="utf-8"))
        if not alike(got, want):
            yield f"differs from tests/golden/{case['golden']}: {difference(got, want)}"


def alike(got, want):
    """Equal, but for the last digits of a mean: the order of a sum is no rule of a policy."""
    if isinstance(got, dict) and isinstance(want, dict):
        return got.keys() == want.keys() and all(alike(got[k], want[k]) for k in got)
    if isinstance(got, list) and isinstance(want, list):
        return len(got) == len(want) and all(map(alike, got, want))
    if isinstance(got, float) or isinstance(want, float):
        return isinstance(want, (int, float)) and math.isclose(got, want, rel_tol=1e-12)
    return got == want


def difference(got, want, at=""):
    """The first place at which two documents differ."""
    if isinstance(got, dict) and isinstance(want, dict):
        for key in sorted(set(got) | set(want)):
            if key not in got or key not in want:
                return f"{at}.{key}: only in the {'first' if key in got else 'second'}"
            if not alike(got[key], want[key]):
                return difference(got[key], want[key], f"{at}.{key}")
    if isinstance(got, list) and isinstance(want, list) and len(got) == len(want):
        for i, (a, b) in enumerate(zip(got, want)):
            if not alike(a, b):
                return difference(a, b, f"{at}.{i}")
    return f"{at}: got {got!r}, expected {want!r}"[:600]


def problems(case, folder, path, update):
    outcome = execute(case, case["command"], folder, path)
    want = next((e["exit"] for e in case["expect"] if "exit" in e), 0)
    if outcome.status != want:
        yield f"exit status: got {outcome.status}, expected {want}; stderr: {outcome.err[-800:].strip()}"
        return
    check_documents(outcome, folder)
    for expect in case["expect"]:
        yield from check_one(expect, outcome, folder)
    if want == 0 and outcome.out.startswith('{"schema":"comity.replay/1"'):
        yield from conserved(outcome.result)
    if "same" in case or "golden" in case:
        yield from check_whole(case, outcome, folder, path, update)


def run_case(case, tally, args):
    name = f"scenario {case['name']}"
    with tempfile.TemporaryDirectory(prefix="comity-scenario-") as folder:
        try:
            if "shared" in case and not shared_file(case).exists():
                tally.skip(name, f"shared data {case['shared']} is not there (COMITY_SHARED)", shared=True)
                return
            path = prepare(case, pathlib.Path(folder))
            wrong = list(problems(case, pathlib.Path(folder), path, args.update_golden))
        except (Wrong, OSError, ValueError, KeyError, IndexError, StopIteration, TypeError) as e:
            wrong = [f"{type(e).__name__}: {e}"]
    if wrong:
        tally.fail(name, "\n".join(wrong))
    else:
        tally.ok()


def main():
    parser = argparse.ArgumentParser(description="Run tests/scenario/*.toml.")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--update-golden", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the files whose name contains NAME")
    args = parser.parse_args()
    tally = Tally()
    cases = []
    for path in sorted(SCENARIOS.glob("*.toml")):
        if args.names and not any(n in path.stem for n in args.names):
            continue
        try:
            cases += load(path)
        except (Wrong, tomllib.TOMLDecodeError, KeyError) as e:
            tally.fail(f"scenario file {path.name}", str(e))
    cases = [c for c in cases if args.long or not c.get("long")]
    begin = time.monotonic()
    with ThreadPoolExecutor(max(1, int(os.environ.get("COMITY_JOBS", os.cpu_count() or 2)))) as pool:
        list(pool.map(lambda c: run_case(c, tally, args), cases))
    print(f"{len(cases)} scenario cases in {time.monotonic() - begin:.1f} s")
    tally.finish()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the trees and runs every test; ./test calls this after it has installed the packages.

Stages: release (unit tests, scenarios, command examples, the main job, its report in a browser), tidy, a real Slurm,
check (unit tests and fuzzers under address and undefined), tsan. Each prints what failed; then come the CPU seconds of
each stage and, as the last line, the counts.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from tally import Tally, parse_line  # noqa: E402

WORKERS = max(1, int(os.environ.get("COMITY_JOBS", os.cpu_count() or 2)))
TSAN_TARGETS = ["twin_test"]  # the libraries that start threads
TAIL = 60  # lines of output shown for what failed


def cpu_seconds():
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def tail(text, lines=TAIL):
    return "\n".join(text.rstrip().splitlines()[-lines:])


def environment():
    env = dict(os.environ, LC_ALL="C.UTF-8", UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
               ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1", TSAN_OPTIONS="halt_on_error=1")
    beside = ROOT.parent / "shared"
    if "COMITY_SHARED" not in env and beside.is_dir():
        env["COMITY_SHARED"] = str(beside)
    return env


class Runner:
    def __init__(self, args):
        self.args = args
        self.tally = Tally()
        self.stages = []
        self.env = environment()
        self.logs = ROOT / "build" / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def stage(self, name):
        print(f"== {name}", flush=True)
        cpu, wall, before = cpu_seconds(), time.monotonic(), self.counts()
        try:
            yield
        finally:
            counts = (b - a for a, b in zip(before, self.counts()))
            self.stages.append((name, cpu_seconds() - cpu, time.monotonic() - wall, *counts))

    def counts(self):
        return self.tally.passed, self.tally.failed, self.tally.skipped

    def run(self, command, timeout=None, **more):
        """(exit status, output); a time-out or a missing program is a status like any other."""
        try:
            done = subprocess.run([str(c) for c in command], cwd=ROOT, env=more.pop("env", self.env), timeout=timeout,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", **more)
            return done.returncode, done.stdout
        except subprocess.TimeoutExpired as e:
            output = e.stdout or b""
            output = output.decode(errors="replace") if isinstance(output, bytes) else output
            return 124, f"{output}\ntimed out after {timeout} s"
        except OSError as e:
            return 127, str(e)

    def logged(self, name, command):
        """A build step: its output goes to build/logs, what failed is shown."""
        log = self.logs / f"{name}.log"
        with open(log, "w", encoding="utf-8") as out:
            try:
                status = subprocess.run([str(c) for c in command], cwd=ROOT, env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=out, stderr=subprocess.STDOUT).returncode
            except OSError as e:
                out.write(str(e))
                status = 127
        if status != 0:
            self.tally.fail(name, f"exit status {status}\n" + tail(log.read_text(encoding="utf-8", errors="replace")))
        return status == 0

    def build(self, preset, targets=()):
        with self.stage(f"build {preset}"):
            return (self.logged(f"configure-{preset}", ["cmake", "--preset", preset, "-DCOMITY_TESTS=ON"]) and
                    self.logged(f"build-{preset}", ["ninja", "-C", f"build/{preset}", "-j", WORKERS, *targets]))

    # --- GoogleTest binaries ---------------------------------------------------------------------

    def unit_tests(self, preset, only=()):
        with self.stage(f"unit tests, {preset}"):
            status, text = self.run(["ctest", "--test-dir", f"build/{preset}", "--show-only=json-v1"])
            try:
                listed = json.loads(text)["tests"]
            except (ValueError, KeyError):
                self.tally.fail(f"list of unit tests, {preset}", f"exit status {status}\n{tail(text)}")
                return
            binaries = [(t["name"], t["command"]) for t in listed if "command" in t]
            if only:
                binaries = [(n, c) for n, c in binaries if pathlib.Path(c[0]).name in only]
            if not binaries:
                self.tally.fail(f"unit tests, {preset}", "no test binary")
            with ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(lambda b: self.google_test(preset, *b), binaries))

    def google_test(self, preset, name, command):
        report = self.logs / f"gtest-{preset}-{name}.json"
        report.unlink(missing_ok=True)
        command = [*command, f"--gtest_output=json:{report}"]
        status, output = self.run(command, timeout=1500)
        if "unexpected memory mapping" in output:  # gcc's thread sanitizer on a kernel with wide address randomisation
            status, output = self.run(["setarch", "-R", *command], timeout=1500)
        (self.logs / f"gtest-{preset}-{name}.log").write_text(output, encoding="utf-8")
        label = f"{name} ({preset})"
        try:
            suites = json.loads(report.read_text(encoding="utf-8"))["testsuites"]
        except (OSError, ValueError, KeyError):
            self.crashed(label, status, output)
            return
        failed_before = self.tally.failed
        seen = 0
        for suite in suites:
            for test in suite["testsuite"]:
                if test.get("status") != "RUN":
                    continue
                seen += 1
                self.one_google_test(label, f"{suite['name']}.{test['name']}", test, output)
        if seen == 0:
            self.tally.fail(label, "it holds no test")
        if status != 0 and self.tally.failed == failed_before:
            self.tally.fail(label, f"exit status {status} though every test passed\n{tail(output)}")

    def one_google_test(self, label, test_name, test, output):
        name = f"{label} {test_name}"
        if test.get("failures"):
            self.tally.fail(name, "\n".join(f["failure"] for f in test["failures"]))
        elif test.get("result") == "SKIPPED":
            said = re.search(rf"\[ RUN +\] {re.escape(test_name)}\n(.*?)\[  SKIPPED \]", output, re.S)
            why = " ".join(said.group(1).split("Skipped\n")[-1].split()) if said else "no reason given"
            self.tally.skip(name, why, shared="shared" in why.lower())
        else:
            self.tally.ok()

    def crashed(self, label, status, output):
        """No report was written: count what the output shows, and the test that ended it all."""
        self.tally.ok(len(re.findall(r"^\[       OK \] ", output, re.M)))
        for name in sorted(set(re.findall(r"^\[  FAILED  \] (\S+)(?: \(\d+ ms\))$", output, re.M))):
            self.tally.fail(f"{label} {name}")
        begun = re.findall(r"^\[ RUN      \] (\S+)$", output, re.M)
        self.tally.fail(f"{label} {begun[-1] if begun else ''}".rstrip(), f"ended with status {status}\n{tail(output)}")

    # --- tools that print their own last line ----------------------------------------------------

    def tool(self, name, command, timeout=3000):
        with self.stage(name):
            status, output = self.run([sys.executable, *command], timeout=timeout)
            counts = parse_line(output)
            shown = "\n".join(output.rstrip().splitlines()[:-1]) if counts else tail(output)
            if shown:
                print(shown, flush=True)
            if counts is None:
                self.tally.fail(name, f"exit status {status} and no count")
                return
            self.tally.add(*counts)
            if status != 0 and counts[1] == 0:
                self.tally.fail(name, f"exit status {status}, yet it counts no failure")

    def main_job(self):
        """./run with no argument, as a newcomer types it."""
        with self.stage("main job"):
            begin = time.monotonic()
            status, output = self.run(["./run"], timeout=600)
            if status != 0 or not re.search(r"^Report: \S*report\.html$", output, re.M):
                self.tally.fail("main job", f"exit status {status}\n{tail(output)}")
                return False
            self.tally.ok()
            print(f"main job: {time.monotonic() - begin:.1f} s", flush=True)
            return True

    def installed(self):
        """cmake --install into an empty prefix leaves a program that runs from there, and its man pages."""
        with self.stage("install"), tempfile.TemporaryDirectory(prefix="comity-prefix-") as prefix:
            status, output = self.run(["cmake", "--install", "build/release", "--prefix", prefix])
            if status == 0:
                status, output = self.run([f"{prefix}/bin/comity", "version"])
            pages = {p.name for p in pathlib.Path(prefix).glob("share/man/man1/*.1")}
            wanted = {p.stem for p in (ROOT / "docs" / "man").glob("*.scd")}
            if status != 0 or not output.startswith("comity ") or pages != wanted:
                self.tally.fail("install", f"exit status {status}, man pages {sorted(pages)}\n{tail(output)}")
            else:
                self.tally.ok()

    # --- fuzzers ---------------------------------------------------------------------------------

    def fuzz(self):
        seconds = 120 if self.args.long else 3
        with self.stage("fuzz"):
            built = (ROOT / "build" / "check").glob("src/**/*_fuzz")
            fuzzers = sorted(p for p in built if p.is_file() and os.access(p, os.X_OK))
            if not fuzzers:
                self.tally.fail("fuzz", "no fuzzer")
            with ThreadPoolExecutor(WORKERS) as pool:
                list(pool.map(lambda f: self.one_fuzzer(f, seconds), fuzzers))

    def one_fuzzer(self, fuzzer, seconds):
        work = ROOT / "build" / "check" / "corpus" / fuzzer.name
        work.mkdir(parents=True, exist_ok=True)
        found = ROOT / "build" / "check" / "found"
        found.mkdir(exist_ok=True)
        committed = ROOT / "tests" / "fuzz" / fuzzer.name
        folders = [work] + ([committed] if committed.is_dir() else [])
        dictionary = [f"-dict={d}"] if (d := committed.with_suffix(".dict")).is_file() else []
        flags = [f"-max_total_time={seconds}", "-timeout=20", "-rss_limit_mb=2048", "-seed=1", "-print_final_stats=1",
                 f"-artifact_prefix={found}/{fuzzer.name}-", *dictionary]
        status, output = self.run([fuzzer, *flags, *folders], timeout=seconds + 300)
        if status == 0 and re.search(r"number_of_executed_units: [1-9]", output):
            self.tally.ok()
        else:
            self.tally.fail(fuzzer.name, f"exit status {status}\n{tail(output)}")

    # --- everything ------------------------------------------------------------------------------

    def everything(self):
        args = self.args
        long = ["--long"] if args.long else []
        if self.build("release"):
            self.unit_tests("release")
            self.tool("scenarios", ["tests/run_scenarios.py", *long])
            self.tool("command examples", ["tests/run_examples.py"])
            self.installed()
            if not args.quick and self.main_job():
                self.tool("report in a browser", ["tests/report/check.py"])
        self.tool("tidy", ["tools/tidy.py", *(["--quick"] if args.quick else long)])
        self.tool("tidy's own test", ["tools/tidy_test.py"])
        if args.quick:
            return
        if (ROOT / "build" / "release" / "comity").is_file():
            self.tool("accounting of a real Slurm", ["tests/slurm/check.py"], timeout=180)
        if self.build("check"):
            self.unit_tests("check")
            self.fuzz()
        if self.build("tsan", TSAN_TARGETS):
            self.unit_tests("tsan", TSAN_TARGETS)

    def print_stages(self):
        print(f"\n{'stage':<24}{'CPU s':>9}{'wall s':>9}{'passed':>9}{'failed':>9}{'skipped':>9}")
        for name, cpu, wall, *counts in self.stages:
            print(f"{name:<24}{cpu:>9.1f}{wall:>9.1f}" + "".join(f"{n:>9}" for n in counts))
        print(f"{'all':<24}{sum(s[1] for s in self.stages):>9.1f}{sum(s[2] for s in self.stages):>9.1f}\n")


def main():
    parser = argparse.ArgumentParser(prog="./test", description="Build and run every test.")
    parser.add_argument("--quick", action="store_true", help="the release tree, scenarios and tidy: under five minutes")
    parser.add_argument("--long", action="store_true", help="the long forms too")
    runner = Runner(parser.parse_args())
    try:
        runner.everything()
    except KeyboardInterrupt:
        runner.tally.fail("interrupted")
    except Exception as e:  # the count has to come out whatever went wrong
        runner.tally.fail("the test runner", repr(e))
    runner.print_stages()
    runner.tally.finish()


if __name__ == "__main__":
    main()

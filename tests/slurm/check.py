#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a real Slurm on this machine, about 60 jobs on it (arrays, a gang, a requeue, a dependency, a heterogeneous job,
jobs without GPUs, cancelled, failed and running ones), and reads its accounting with Comity, as text and as JSON: the
GPU hours are those that sacct's own fields add up to, both forms say the same of each job, and the jobs replay.

    tests/slurm/check.py [--keep FOLDER]     --keep: leave sacct's output there
"""

import argparse
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "slurm")]
from cluster import Cluster, missing_programs, recipe  # noqa: E402
from tally import Tally  # noqa: E402

BINARY = pathlib.Path(os.environ.get("COMITY_BINARY", ROOT / "build" / "release" / "comity")).resolve()
NODES, GPUS = 4, 8
COLUMNS = ("JobID,JobIDRaw,JobName,User,Account,Partition,QOS,State,Submit,Eligible,Start,End,Elapsed,ElapsedRaw,"
           "Timelimit,TimelimitRaw,NNodes,NodeList,ReqTRES,AllocTRES")
HET = "#!/bin/bash\n#SBATCH --gres=gpu:2\n#SBATCH hetjob\n#SBATCH --gres=gpu:4\nsleep 2\n"


def submit(cluster, *options, run="sleep 1"):
    return cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-e", "/dev/null", *options, "--wrap", run).strip()


def wait_until(what, check, seconds=60):
    until = time.monotonic() + seconds
    while not check():
        if time.monotonic() > until:
            raise RuntimeError(f"after {seconds} s still not: {what}")
        time.sleep(0.5)


def state_of(cluster, job):
    return cluster.run("squeue", "-h", "-j", job, "-o", "%T").strip()


def run_jobs(cluster):
    """About 60 jobs; returns when all have ended but one that runs and one that waits."""
    cluster.run("sacctmgr", "-i", "add", "account", "phys", "description=phys", "organization=univ")
    cluster.run("sacctmgr", "-i", "add", "user", "root", "account=phys", "qos=normal,high")
    again = submit(cluster, "--gres=gpu:4", "--requeue", "-J", "again", run="sleep 4")
    submit(cluster, "--gres=gpu:2", "--array=0-23%6", "-J", "array")
    submit(cluster, "--gres=gpu:1", "--array=1-15:2", "-t", "1-00:00:00", "-A", "phys", "-J", "odd", run="sleep 2")
    submit(cluster, "-N", "2", "--gres=gpu:8", "-A", "phys", "-J", "gang", run="srun sleep 1; srun sleep 1")
    for gpus in (1, 2, 4, 8):
        for length in (0, 1, 2):
            submit(cluster, f"--gres=gpu:{gpus}", "-t", gpus, "-J", f"single{gpus}", run=f"sleep {length}")
    submit(cluster, "--gpus=5", "-N", "2", "-n", "2", "-J", "uneven")
    submit(cluster, "-J", "cpu")
    submit(cluster, "--gres=shard:5", "-J", "shard")
    submit(cluster, "--gres=gpu:1", "-J", "fails", run="exit 3")
    submit(cluster, "--gres=gpu:1", "-J", "a|b")
    submit(cluster, "--gres=gpu:1", f"--dependency=afterok:{again}", "-J", "after")
    het = cluster.base / "het.sh"
    het.write_text(HET, encoding="utf-8")
    cluster.run("sbatch", "--parsable", "-o", "/dev/null", "-e", "/dev/null", "-J", "het", het)
    later = submit(cluster, "--gres=gpu:8", "--begin=now+1hour", "-J", "later")
    wait_until("the job to requeue runs", lambda: state_of(cluster, again) == "RUNNING")
    time.sleep(1.2)
    cluster.run("scontrol", "requeue", again)
    cluster.run("scancel", later)
    # Slurm holds a requeued job back for two minutes; that need not be waited for.
    wait_until("it waits again", lambda: state_of(cluster, again) == "PENDING")
    cluster.run("scontrol", "update", f"JobId={again}", "StartTime=now")
    submit(cluster, "--gres=gpu:8", "-J", "waits", "--hold")
    runs = submit(cluster, "--gres=gpu:1", "-J", "runs", run="sleep 600")
    wait_until("all but two have ended", lambda: len(cluster.run("squeue", "-h", "-r", "-o", "%i").split()) == 2, 90)
    wait_until("one runs", lambda: state_of(cluster, runs) == "RUNNING")
    time.sleep(2)  # until the last ends are in the data base
    return again


def gpus_of(tres):
    found = re.search(r"(?:^|,)gres/gpu=(\d+)", tres)
    return int(found.group(1)) if found else 0


def records(cluster, *options):
    """What sacct says itself: (id, state, seconds, GPUs) of each record of a job that has ended with GPUs."""
    text = cluster.run("sacct", "-a", "-X", "-n", "-P", "-S", "now-1hour", *options, "-o",
                       "JobIDRaw,State,ElapsedRaw,AllocTRES")
    rows = [line.split("|") for line in text.splitlines()]
    ended = [r for r in rows if r[1] not in ("RUNNING", "PENDING")]
    return [(r[0], r[1], int(r[2]), gpus_of(r[3])) for r in ended if gpus_of(r[3]) > 0]


def comity(*arguments):
    done = subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"comity {' '.join(map(str, arguments))}: status {done.returncode}\n{done.stderr[-500:]}")
    return done.stdout


class Checks:
    def __init__(self, tally, folder):
        self.tally = tally
        self.folder = folder

    def same(self, what, got, wanted):
        if got == wanted:
            self.tally.ok()
        else:
            self.tally.fail(what, f"got {got}, wanted {wanted}")

    def hours(self, name, rows):
        """Jobs and GPU hours of a file against what sacct's fields add up to."""
        stats = json.loads(comity("trace", "stats", self.folder / name, "-o", "json"))
        self.same(f"jobs of {name}", stats["jobs"], len({r[0] for r in rows}))
        wanted = sum(r[2] * r[3] for r in rows) / 3600
        self.same(f"GPU hours of {name}", round(stats["gpu_hours"], 9), round(wanted, 9))
        print(f"{name}: {stats['jobs']} jobs, {stats['gpu_hours']:.6f} GPU hours, by sacct {wanted:.6f}", flush=True)
        return stats

    def jobs(self, name):
        text = comity("trace", "convert", self.folder / name)
        return {row["job_id"]: row for row in csv.DictReader(io.StringIO(text))}

    def replays(self, name, jobs):
        for policy in ("fifo", "easy"):
            out = json.loads(comity("replay", self.folder / name, "--nodes", f"{NODES}x{GPUS}", "--policy", policy,
                                    "-o", "json"))["runs"][0]
            self.same(f"{policy} of {name}", (out["submitted"], out["finished"], out["rejected"], out["unfinished"]),
                      (jobs, jobs, 0, 0))


def check(tally, cluster, again, folder):
    with_runs = ("-D", "-S", "now-1hour")
    for name, options in {"sacct.txt": ("-P", "-o", COLUMNS, *with_runs), "sacct.json": ("--json", *with_runs),
                          "last_runs.txt": ("-P", "-o", COLUMNS, "-S", "now-1hour"),
                          "table.txt": ("-S", "now-1hour")}.items():
        (folder / name).write_text(cluster.run("sacct", "-a", *options), encoding="utf-8")
    checks = Checks(tally, folder)
    rows = records(cluster, "-D")
    checks.same("records of the requeued job", sorted(r[1] for r in rows if r[0] == again), ["COMPLETED", "REQUEUED"])
    if len(rows) < 50:
        tally.fail("the workload", f"only {len(rows)} jobs ran on GPUs")
    stats = checks.hours("sacct.txt", rows)
    checks.hours("sacct.json", rows)
    checks.hours("last_runs.txt", records(cluster))
    text, document = checks.jobs("sacct.txt"), checks.jobs("sacct.json")
    checks.same("the text and the JSON, job by job", document, text)
    names = {row["name"]: row for row in text.values()}
    checks.same("shape of the gang", (names["gang"]["nodes"], names["gang"]["gpus_per_node"]), ("2", "8"))
    checks.same("GPUs of the uneven job", (names["uneven"]["nodes"], names["uneven"]["gpus"]), ("", "5"))
    checks.same("name with a separator", names["a|b"]["tenant"], "lab")
    checks.same("account and limit", (names["odd"]["tenant"], names["odd"]["estimate_s"]), ("phys", "86400"))
    checks.same("jobs that are none", {"cpu", "shard", "waits", "later", "runs"} & set(names), set())
    checks.same("components of the heterogeneous job", sum(r["name"] == "het" for r in text.values()), 2)
    checks.replays("sacct.txt", stats["jobs"])
    checks.replays("sacct.json", stats["jobs"])
    refused = subprocess.run([str(BINARY), "trace", "stats", str(folder / "table.txt")], capture_output=True, text=True,
                             check=False)
    told = "--parsable2" in refused.stderr
    checks.same("the table for people is refused by name", (refused.returncode, told), (3, True))


def main():
    parser = argparse.ArgumentParser(description="Reads the accounting of a real Slurm.")
    parser.add_argument("--keep", type=pathlib.Path, help="leave sacct's output in this folder")
    args = parser.parse_args()
    tally = Tally()
    folder = recipe(ROOT)
    missing = missing_programs()
    if not (folder / "up.sh").is_file():
        tally.skip("Slurm's accounting", f"the recipe shared/slurm/up.sh is not there ({folder})")
        print(tally.line(), flush=True)
        return
    if os.geteuid() != 0 or missing:
        why = "it needs root" if os.geteuid() != 0 else f"not installed: {', '.join(missing)}"
        tally.skip("Slurm's accounting", why, shared=True)
        print(tally.line(), flush=True)
        sys.exit(1 if tally.failed else 0)
    cluster = Cluster(folder, NODES, GPUS)
    try:
        if trouble := cluster.start():
            tally.fail("start of Slurm", trouble)
        else:
            again = run_jobs(cluster)
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
            check(tally, cluster, again, args.keep or cluster.base)
    except (RuntimeError, subprocess.TimeoutExpired, OSError, KeyError, ValueError) as e:
        tally.fail("Slurm's accounting", str(e))
    finally:
        if left := cluster.stop():
            tally.fail("stop of Slurm", f"still there: {left}")
    tally.finish()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine, from the recipe in shared/slurm: started in a folder and on ports of its own, and
stopped by the process ids that it left in its run folder."""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ["slurmctld", "slurmd", "slurmdbd", "sbatch", "sacct", "munged", "mariadbd", "curl"]


def recipe(root):
    """Folder of the recipe; it may not be there."""
    shared = os.environ.get("COMITY_SHARED")
    return (pathlib.Path(shared) if shared else root.parent / "shared") / "slurm"


def missing_programs():
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [p for p in PROGRAMS if shutil.which(p, path=path) is None]


def is_free(port):
    with socket.socket() as s:
        try:
            s.bind(("0.0.0.0", port))
            return True
        except OSError:
            return False


def free_block(nodes):
    """A port below a block of 200 of which the recipe's are free."""
    for _ in range(200):
        base = random.randrange(20_000, 32_000, 200)  # below the ports that the kernel hands out
        if all(is_free(base + i) for i in [1, 2, 3, *range(101, 101 + nodes)]):
            return base
    raise RuntimeError("no block of free ports")


class Cluster:
    def __init__(self, folder, nodes, gpus):
        self.recipe = folder
        self.nodes = nodes
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="comity-slurm-", dir="/tmp"))  # sockets need a short path
        self.env = dict(os.environ, BASE=str(self.base), NODES=str(nodes), GPUS=str(gpus), PORT=str(free_block(nodes)),
                        PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin", TZ="UTC", LC_ALL="C",
                        SLURM_CONF=str(self.base / "etc" / "slurm.conf"))
        self.env.pop("SLURM_JWT", None)

    def start(self):
        """The log's end where it didn't come up."""
        log = self.base / "up.log"  # a file: the daemons would hold a pipe open
        with open(log, "w", encoding="utf-8") as out:
            status = subprocess.run(["bash", str(self.recipe / "up.sh")], env=self.env, stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=subprocess.STDOUT, timeout=120, check=False).returncode
        return "" if status == 0 else log.read_text(encoding="utf-8", errors="replace")[-2000:] or f"status {status}"

    def pids(self):
        found = []
        for file in sorted((self.base / "run").glob("*.pid")):
            text = file.read_text(encoding="utf-8").strip()
            if text.isdigit() and self.is_mine(int(text), file.name):
                found.append(int(text))
        return found

    @staticmethod
    def is_mine(pid, name):
        """Alive, and the program that the file is named after: a number may have gone to another process."""
        try:
            command = pathlib.Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        except OSError:
            return False
        return name.split(".")[0].startswith(command[:8]) or command.startswith(name.split(".")[0][:8])

    def cancel_all(self):
        """Ends running jobs: their processes would outlive the daemons."""
        try:
            self.run("scancel", "--user=root", timeout=20)
            until = time.monotonic() + 20
            while self.run("squeue", "-h", "-o", "%i", timeout=20).strip() and time.monotonic() < until:
                time.sleep(0.3)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            pass  # no controller to ask: then nothing runs, or stop() finds it

    def job_processes(self):
        """Processes of jobs: their scripts lie in this cluster's folder."""
        found = []
        for file in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.base / "spool") in file.read_bytes().decode(errors="replace"):
                    found.append(int(file.parent.name))
            except OSError:
                continue
        return found

    def stop(self):
        """Process ids that are still there after all."""
        self.cancel_all()
        pids = self.pids() + self.job_processes()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            for pid in pids:
                try:
                    os.kill(pid, sign)
                except ProcessLookupError:
                    pass
            until = time.monotonic() + 20
            while (pids := [p for p in pids if os.path.exists(f"/proc/{p}")]) and time.monotonic() < until:
                time.sleep(0.1)
        shutil.rmtree(self.base, ignore_errors=True)
        return pids

    def run(self, *command, timeout=60):
        done = subprocess.run([str(c) for c in command], env=self.env, cwd=self.base, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr[-500:]}")
        return done.stdout

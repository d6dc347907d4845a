"""A real Slurm of one node on loopback: Debian's programs, everything they write in one temporary folder.

Snakemake's plugin removes SLURM_CONF from the environment of jobs, so Slurm's commands are called through
scripts that say where the configuration is. The daemons run under the host name localhost, as Slurm binds
to whatever address the host's name has.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

UNPACKED = Path(__file__).parents[2] / ".slurm"  # by `make test-slurm`
DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sacct", "sacctmgr", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
PATIENCE = 60  # seconds
CONFIGURATION = """\
ClusterName=jigsaw
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobRequeue=0
SchedulerParameters=batch_sched_delay=0
KillWait=2
MinJobAge=600
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory}
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def program(name: str) -> str | None:
    """Return the path of a program of Slurm, unpacked or installed."""
    places = [UNPACKED / "usr/sbin", UNPACKED / "usr/bin", os.environ["PATH"], "/usr/sbin"]
    return shutil.which(name, path=os.pathsep.join(map(str, places)))


def lacking() -> str:
    """Say what keeps Slurm from being brought up here; nothing if it can be."""
    missing = [name for name in (*DAEMONS, *COMMANDS, "slurmstepd") if program(name) is None]
    if missing:
        return f"Slurm is not here ({', '.join(missing)}): `make test-slurm` gets it"
    allowed = subprocess.run(["unshare", "--uts", "true"], check=False, capture_output=True).returncode == 0
    return "" if allowed else "Slurm's daemons need root here"


class Cluster:
    """Slurm, for as long as the block lasts."""

    def __enter__(self) -> Cluster:
        self.folder = Path(tempfile.mkdtemp(prefix="jigsaw-slurm-"))
        self.folder.chmod(0o755)  # munge insists on it
        self._daemons: list[subprocess.Popen[bytes]] = []
        try:
            self._configure()
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.call("scancel", "--user=root")
            self._wait_for("its jobs to end", lambda: not self.call("squeue", "--noheader"))
        finally:
            self._stop()

    def _stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.terminate()
            daemon.wait(PATIENCE)
        shutil.rmtree(self.folder)

    def call(self, command: str, *words: str) -> str:
        """Run one of Slurm's commands; return what it prints."""
        done = subprocess.run(
            [self.folder / "bin" / command, *words], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which Slurm's commands are found."""
        return {**os.environ, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def processes(self) -> list[psutil.Process]:
        """Return the daemons and all that they have started."""
        daemons = [psutil.Process(daemon.pid) for daemon in self._daemons]
        return [*daemons, *(child for daemon in daemons for child in daemon.children(recursive=True))]

    def _configure(self) -> None:
        for name in ("bin", "state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        controller_port, node_port = _free_ports(2)
        text = CONFIGURATION.format(
            folder=self.folder,
            controller_port=controller_port,
            node_port=node_port,
            cores=os.cpu_count(),
            memory=psutil.virtual_memory().total >> 20,
        )
        libraries = list(UNPACKED.glob("usr/lib/*/slurm*")) + list(UNPACKED.glob("usr/lib/*"))
        plugins = [str(path) for path in libraries if (path / "auth_munge.so").exists()]
        text += f"PluginDir={plugins[0]}\n" if plugins else ""
        (self.folder / "slurm.conf").write_text(text)
        self._settings = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        if libraries:
            self._settings["LD_LIBRARY_PATH"] = os.pathsep.join(map(str, libraries))
        for name in COMMANDS:
            script = self.folder / "bin" / name
            given = " ".join(f"{key}='{value}'" for key, value in self._settings.items())
            script.write_text(f"#!/bin/sh\n{given} exec '{program(name)}' \"$@\"\n")
            script.chmod(0o755)

    def _start(self) -> None:
        files = {
            "key-file": "munge.key",
            "socket": "munge.socket",
            "pid-file": "munge.pid",
            "seed-file": "seed",
        }
        self._daemon(
            "munged", "--foreground", *(f"--{key}={self.folder / name}" for key, name in files.items())
        )
        self._wait_for("munge", (self.folder / "munge.socket").exists)
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", "localhost", "-d", str(program("slurmstepd")))
        self._wait_for("its node", lambda: self.call("sinfo", "--noheader", "--format=%T") == "idle")

    def _daemon(self, name: str, *words: str) -> None:
        command = [
            "unshare",
            "--uts",
            "sh",
            "-c",
            'hostname localhost && exec "$@"',
            "sh",
            str(program(name)),
            *words,
        ]
        with open(self.folder / f"{name}.log", "wb") as log:
            self._daemons.append(
                subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **self._settings})
            )

    def _wait_for(self, what: str, done) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            ended = [daemon for daemon in self._daemons if daemon.poll() is not None]
            if ended or time.monotonic() > deadline:
                logs = "\n".join(
                    path.read_text(errors="replace")[-3000:] for path in self.folder.glob("*.log")
                )
                raise RuntimeError(f"Slurm waited in vain for {what}:\n{logs}")
            time.sleep(0.2)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports

"""What is read from the system, from copies of what systems write."""

import json

import pytest

from roofline.bench.cpu import host
from roofline.device import L1, L2, L3


def sysfs(folder, cpus: dict[int, tuple[int, int]], caches: dict[int, list[tuple]]) -> None:
    """cpus: number -> (package, core); caches: number -> [(level, type, size, shared_cpu_list)]."""
    for number, (package, core) in cpus.items():
        topology = folder / f"cpu{number}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{package}\n")
        (topology / "core_id").write_text(f"{core}\n")
    for number, entries in caches.items():
        for index, entry in enumerate(entries):
            cache = folder / f"cpu{number}" / "cache" / f"index{index}"
            cache.mkdir(parents=True)
            for name, value in zip(
                ("level", "type", "size", "shared_cpu_list"), entry, strict=True
            ):
                (cache / name).write_text(f"{value}\n")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Two cores with two threads each: CPUs 0 and 2 are one core; L3 serves all."""
    private = lambda shared: [  # noqa: E731
        (1, "Data", "48K", shared), (1, "Instruction", "32K", shared),
        (2, "Unified", "1024K", shared), (3, "Unified", "32M", "0-3"),
    ]  # fmt: skip
    sysfs(
        tmp_path,
        {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (0, 1)},
        {0: private("0,2"), 1: private("1,3"), 2: private("0,2"), 3: private("1,3")},
    )
    monkeypatch.setattr(host, "_CPUS", tmp_path)
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    host.cores.cache_clear()
    yield
    host.cores.cache_clear()


@pytest.mark.usefixtures("machine")
def test_one_cpu_of_each_core():
    assert host.cores() == (0, 1)


@pytest.mark.usefixtures("machine")
def test_caches_of_one_core_and_of_all_together():
    assert host.caches([0]) == {L1: 48 << 10, L2: 1 << 20, L3: 32 << 20}
    # Private caches add up, the shared one counts once.
    assert host.caches([0, 1]) == {L1: 96 << 10, L2: 2 << 20, L3: 32 << 20}
    # Two threads of one core share everything.
    assert host.caches([0, 2]) == host.caches([0])


def node(folder, number: int, cpus: str) -> None:
    (folder / f"node{number}").mkdir()
    (folder / f"node{number}" / "cpulist").write_text(f"{cpus}\n")


def test_nodes_of_two_sockets(tmp_path, monkeypatch):
    """CPUs 0-3 and 8 on one node, 4-7 on the other; a third holds memory and no CPU."""
    monkeypatch.setattr(host, "_NODES", tmp_path)
    for number, cpus in ((10, ""), (1, "4-7"), (0, "0-3,8")):
        node(tmp_path, number, cpus)
    (tmp_path / "possible").write_text("0-1,10\n")
    assert host.nodes([0, 1, 4, 8]) == {0: (0, 1, 8), 1: (4,)}
    assert list(host.nodes(range(9))) == [0, 1]
    assert host.nodes([5, 6]) == {1: (5, 6)}


def test_a_system_that_tells_no_nodes_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_NODES", tmp_path / "none")
    assert host.nodes([3, 4]) == {0: (3, 4)}


@pytest.mark.parametrize(
    ("machine_name", "features", "width", "named"),
    [
        ("x86_64", "sse2 avx avx2 avx512f", 64, "AVX-512"),
        ("x86_64", "sse2 avx avx2", 32, "AVX2"),
        ("x86_64", "sse2 avx", 32, "AVX"),
        ("x86_64", "sse2", 16, "SSE2"),
        ("aarch64", "asimd", 16, "NEON"),
        ("riscv64", "", 32, "256 bit vectors"),
    ],
)
def test_vectors_are_named_after_their_instruction_set(
    monkeypatch, machine_name, features, width, named
):
    monkeypatch.setattr(host, "cpu", lambda: host.Cpu("maker", "model", features))
    monkeypatch.setattr(host.platform, "machine", lambda: machine_name)
    monkeypatch.setattr(host, "sve_bytes", lambda: None)
    assert host.vectors(width) == named


def test_scalable_vectors_are_named(monkeypatch):
    monkeypatch.setattr(host, "cpu", lambda: host.Cpu("ARM", "Neoverse-V1", "asimd sve"))
    monkeypatch.setattr(host.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(host, "sve_bytes", lambda: 32)
    assert (host.vectors(32), host.vectors(16)) == ("SVE", "NEON")


def test_a_system_that_tells_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(host, "_CPUS", tmp_path)
    monkeypatch.setattr(host.os, "sched_getaffinity", lambda _: {4, 5})
    host.cores.cache_clear()
    assert host.cores() == (4, 5)
    assert host.caches([4]) == {}
    host.cores.cache_clear()


NESTED = {"lscpu": [
    {"field": "Architecture:", "data": "x86_64"},
    {"field": "Vendor ID:", "data": "GenuineIntel", "children": [
        {"field": "Model name:", "data": "Intel(R) Xeon(R) Platinum 8488C", "children": [
            {"field": "Flags:", "data": "sse avx512f"}]}]},
]}  # fmt: skip
ARM = {"lscpu": [
    {"field": "Vendor ID:", "data": "ARM"}, {"field": "Model name:", "data": "Neoverse-V2"},
]}  # fmt: skip


def lscpu(monkeypatch, document) -> None:
    class Done:
        stdout = json.dumps(document).encode()

    monkeypatch.setattr(host.subprocess, "run", lambda *_, **__: Done)
    host.cpu.cache_clear()


@pytest.fixture(autouse=True)
def _forget():
    yield
    host.cpu.cache_clear()


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("document", "cpu", "device_id"),
    [
        (
            NESTED,
            host.Cpu("Intel", "Intel(R) Xeon(R) Platinum 8488C", "sse avx512f"),
            "cpu-intel-xeon-platinum-8488c-2c",
        ),
        (ARM, host.Cpu("ARM", "Neoverse-V2", ""), "cpu-arm-neoverse-v2-2c"),
        (
            {"lscpu": [
                {"field": "Vendor ID:", "data": "AuthenticAMD"},
                {"field": "Model name:", "data": "AMD EPYC 9755 128-Core Processor"},
            ]},
            host.Cpu("AMD", "AMD EPYC 9755 128-Core Processor", ""),
            "cpu-amd-epyc-9755-2c",
        ),
        (
            {"lscpu": [
                {"field": "Vendor ID:", "data": "GenuineIntel"},
                {"field": "Model name:", "data": "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz"},
            ]},
            host.Cpu("Intel", "Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz", ""),
            "cpu-intel-core-i7-8700-2c",
        ),
    ],
    ids=["intel-nested", "arm", "amd", "intel-clock"],
)  # fmt: skip
def test_names_and_ids(monkeypatch, document, cpu, device_id):
    lscpu(monkeypatch, document)
    assert host.cpu() == cpu
    assert host.device_id() == device_id


CPUINFO = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model name\t: AMD EPYC 9755 128-Core Processor
flags\t\t: fpu avx512f

processor\t: 1
vendor_id\t: somebody else
"""


@pytest.mark.parametrize(
    ("cpuinfo", "cpu"),
    [
        (CPUINFO, host.Cpu("AMD", "AMD EPYC 9755 128-Core Processor", "fpu avx512f")),
        ("processor\t: 0\nFeatures\t: fp asimd\n", host.Cpu("", host.platform.machine(), "")),
        ("", host.Cpu("", host.platform.machine(), "")),
    ],
    ids=["x86", "arm", "nothing"],
)
def test_a_machine_without_lscpu_still_has_a_name(monkeypatch, tmp_path, cpuinfo, cpu):
    def absent(*_, **__):
        raise FileNotFoundError("lscpu")

    (tmp_path / "cpuinfo").write_text(cpuinfo)
    monkeypatch.setattr(host, "_CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(host.subprocess, "run", absent)
    host.cpu.cache_clear()
    assert host.cpu() == cpu
    assert host.device_id().startswith("cpu-")
    assert "--" not in host.device_id()


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """8 GiB available on the machine; a group of 1 GiB, 256 MiB taken, in one without a limit."""
    (tmp_path / "meminfo").write_text("MemTotal: 16777216 kB\nMemAvailable:    8388608 kB\n")
    (tmp_path / "cgroup").write_text("1:name=systemd:/old\n0::/slice/job\n")
    inner = tmp_path / "groups" / "slice" / "job"
    inner.mkdir(parents=True)
    for folder, most, taken in ((inner, 1 << 30, 256 << 20), (inner.parent, "max", 300 << 20)):
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{taken}\n")
    monkeypatch.setattr(host, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(host, "_CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(host, "_CGROUPS", tmp_path / "groups")
    return inner


@pytest.mark.usefixtures("memory")
def test_a_limit_on_the_group_counts_before_the_machines_memory():
    assert host.free_memory() == 768 << 20


def test_the_tightest_group_counts(memory):
    (memory.parent / "memory.max").write_text(str(400 << 20))
    assert host.free_memory() == 100 << 20


def test_without_a_limit_the_machines_memory_counts(memory):
    (memory / "memory.max").write_text("max")
    assert host.free_memory() == 8 << 30


def test_a_machine_that_tells_no_memory(memory, monkeypatch, tmp_path):
    (memory / "memory.max").write_text("max")
    monkeypatch.setattr(host, "_MEMINFO", tmp_path / "absent")
    assert host.free_memory() is None

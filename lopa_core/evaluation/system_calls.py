"""What a contained program may not ask of the kernel: a seccomp filter as bwrap takes it, compiled BPF (linux/bpf_common.h, seccomp.h).

Namespaces and dropped capabilities do most. This closes what they leave open: processes without end, which no limit stops for
root; sockets, because a VM's own (vsock) know no network namespace; namespaces in the namespace; keyrings, which belong to a user;
shared memory, which no limit counts.
"""

from __future__ import annotations

import errno
import platform
import struct

LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16  # where struct seccomp_data has them; arguments are little-endian here
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
CLONE_THREAD = 0x00010000
FOREIGN = 0x40000000  # from here on x86-64 means its x32 calls
# (audit architecture, where it is in a row of CALLS)
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
CLONE, CLONE3 = (56, 220), (435, 435)
# Numbers on x86-64 and on the newer architectures, which have one table; None: not there.
CALLS = {
    "fork": (57, None), "vfork": (58, None), "socket": (41, 198), "shmget": (29, 194), "ptrace": (101, 117), "unshare": (272, 97),
    "setns": (308, 268), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
}  # fmt: skip


def compiled(machine: str | None = None) -> bytes | None:
    """The filter for a machine as platform.machine() calls it, by default this one; None for one that is not known."""
    architecture, column = MACHINES.get(machine or platform.machine(), (None, None))
    if architecture is None:
        return None
    refused = [numbers[column] for numbers in CALLS.values() if numbers[column] is not None]
    # Each step is (operation, value, steps skipped where it holds, and where not).
    steps = [(LOAD, ARCHITECTURE, 0, 0), (EQUAL, architecture, 1, 0), (RETURN, REFUSE | errno.EPERM, 0, 0), (LOAD, NUMBER, 0, 0)]
    for operation, value, answer in (
        (AT_LEAST, FOREIGN, REFUSE | errno.EPERM),
        (EQUAL, CLONE3[column], REFUSE | errno.ENOSYS),  # its flags lie in memory; libraries go back to clone
        *((EQUAL, number, REFUSE | errno.EPERM) for number in refused),
    ):
        steps += [(operation, value, 0, 1), (RETURN, answer, 0, 0)]
    steps += [(EQUAL, CLONE[column], 1, 0), (RETURN, ALLOW, 0, 0), (LOAD, FIRST_ARGUMENT, 0, 0)]
    steps += [(ANY_BIT, CLONE_THREAD, 0, 1), (RETURN, ALLOW, 0, 0), (RETURN, REFUSE | errno.EPERM, 0, 0)]
    return b"".join(struct.pack("=HBBI", operation, yes, no, value) for operation, value, yes, no in steps)

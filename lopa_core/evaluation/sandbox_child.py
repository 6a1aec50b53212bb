"""One untrusted program: started by sandbox.py as a script, it imports nothing of this project.

Its order comes on standard input; what became of it goes where standard output led. The program itself has neither.
"""

import json
import os
import resource
import signal
import sys

FORBIDDEN = (
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "sqlite3.connect",
    "subprocess.Popen",
)  # fmt: skip
ON_PATHS = (
    "os.chmod", "os.chown", "os.link", "os.mkdir", "os.mkfifo", "os.mknod", "os.remove", "os.rename", "os.rmdir", "os.setxattr",
    "os.symlink", "os.truncate", "os.utime",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
LONGEST_WORDS = 300


def main():
    order = json.load(sys.stdin)
    report, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for each in (0, 1, 2):
        os.dup2(null, each)
    os.environ.pop("PWD", None)  # bwrap's
    limit(order["limits"], order["contained"])
    sys.addaudithook(guard(os.path.realpath(os.getcwd())))
    write, leave, as_json = os.write, os._exit, json.dumps  # the program may replace them
    why = run(order["program"])
    write(report, as_json({"mark": order["mark"], "why": why}).encode())
    leave(0)  # without what the program left to be done at exit


def limit(limits, contained):
    seconds = limits["cpu_seconds"]
    amounts = {
        resource.RLIMIT_AS: limits["memory"], resource.RLIMIT_FSIZE: limits["file_size"], resource.RLIMIT_NOFILE: limits["files"],
        resource.RLIMIT_CORE: 0,
    }  # fmt: skip
    if not contained:
        amounts[resource.RLIMIT_NPROC] = 0  # threads as well; a container refuses processes only, and root's too
    for kind, amount in amounts.items():
        resource.setrlimit(kind, (amount, amount))

    def late(*_):
        raise TimeoutError(f"more than {seconds} seconds of processor time")

    signal.signal(signal.SIGXCPU, late)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))  # a program that goes on all the same is killed


def guard(inside):
    """A hook that refuses to write outside the directory `inside`, to start processes and to open connections."""
    free = {os.devnull, os.fsencode(os.devnull)}

    def within(path):
        path = os.path.realpath(os.fsdecode(path))
        return path == inside or path.startswith(inside + os.sep)

    def hook(event, arguments):
        if event == "open":
            path, _, flags = arguments
            outside = isinstance(path, (str, bytes)) and path not in free and not within(path)
            # no directory either: of names relative to one this hook would not hear
            if outside and (flags & WRITING or os.path.isdir(path)):
                raise PermissionError("a program may write in its own directory only")
        elif event in ON_PATHS:
            if not all(within(each) for each in arguments if isinstance(each, (str, bytes))):
                raise PermissionError("a program may change its own directory only")
        elif event in FORBIDDEN or event.startswith("socket."):
            raise PermissionError(f"a program may not use {event}")

    return hook


def run(program):
    """Why it failed, in words; nothing where it did not."""
    try:
        exec(compile(program, "<program>", "exec"), {"__name__": "program"})
    except BaseException as error:  # SystemExit too: a program that leaves has not come to its end
        return words(error)
    return ""


def words(error):
    try:
        return f"{type(error).__name__}: {error}"[:LONGEST_WORDS]
    except BaseException:  # the program's own exceptions may fail to say what they are
        return type(error).__name__[:LONGEST_WORDS]


if __name__ == "__main__":
    main()

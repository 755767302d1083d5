"""Runs Python scripts for a test program, so that modules such as torch are imported only once.

Reads requests from stdin, one per line, and answers each with an exit code on file descriptor 3. The words of a request
are separated by the character 31 (unit separator):

    import MODULES             runs `import MODULES`, so that later scripts need not; 0 if all of them are available
    run SCRIPT ARGUMENT...     runs a script in a fork of this process; its exit code

Each script runs in its own fork, isolated from the seeds, settings and modules of others.
"""
import os
import runpy
import sys
import traceback


def import_modules(modules):
    try:
        exec("import " + modules, {})
        return 0
    except Exception:  # a broken module counts as missing
        return 1


def exit_code_of(script, arguments):
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(script)
    try:
        runpy.run_path(script, run_name="__main__")
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1


def run(script, arguments):
    child = os.fork()
    if child == 0:
        code = exit_code_of(script, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    with os.fdopen(3, "w") as answers:
        for line in sys.stdin:
            kind, name, *arguments = line.rstrip("\n").split("\x1f")
            print(import_modules(name) if kind == "import" else run(name, arguments), file=answers, flush=True)


if __name__ == "__main__":
    main()

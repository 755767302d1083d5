"""Runs commands."""
import subprocess


def output(*command, **keywords):
    """The standard output of a command, which must succeed."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **keywords)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout

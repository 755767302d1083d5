"""Manual pages and completions that the program writes: man reads them, and bash, zsh and fish complete with them."""
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from command import output

MANUAL = Path(os.environ["TRIBUTARY_BUILD"]) / "manual"

# A line before the tabulator key, and everything that may follow its last word.
LINES = {
    "tributary ad": {"adapt"},
    "tributary data ": {"make", "check", "pack"},
    "tributary data make ": {"digits"},
    "tributary data make digits --test": {"--test-pictures"},
    "tributary data make digits --format ": {"idx", "png"},
    "tributary data pack --format ": {"jpeg", "raw"},
    "tributary adapt --device cu": {"cuda"},
    "tributary adapt --inner": {"--inner-epochs"},
    "tributary adapt --no-rep": {"--no-report"},
    "tributary adapt --help-": {"--help-all"},
    "tributary adapt --method co": {"cowa"},
    "tributary adapt --target data --inner": {"--inner-epochs"},  # a folder with the name of a command
    "tributary adapt --rounds ": set(),
}


class Pages(unittest.TestCase):
    def text(self, name):
        return output("man", "--warnings=w", "-l", MANUAL / f"man1/{name}.1.gz",
                      env={**os.environ, "MANWIDTH": "120", "MAN_KEEP_FORMATTING": ""})

    def test_a_command(self):
        text = self.text("tributary-predict")
        self.assertIn("tributary predict FILE ... [OPTIONS]", text)
        self.assertRegex(text, r"FILE +run folder, mixture file")
        self.assertIn("--rule NAME", text)

    def test_a_command_with_actions(self):
        text = self.text("tributary-data")
        for line in ("tributary data make digits FOLDER [OPTIONS]", "tributary data check NAME [FOLDER] [OPTIONS]",
                     "OPTIONS OF data pack", "tributary data check office-31 photos/office31"):
            self.assertIn(line, text)

    def test_the_program_lists_its_commands(self):
        text = self.text("tributary")
        for page in MANUAL.glob("man1/tributary-*.1.gz"):
            self.assertIn(page.name.replace(".1.gz", "(1)"), text)


class Completions(unittest.TestCase):
    def check(self, complete):
        for line, expected in LINES.items():
            self.assertEqual(complete(line), expected, line)

    def test_bash(self):
        def complete(line):
            words = " ".join(shlex.quote(word) for word in line.split(" "))
            script = (f"source {MANUAL}/tributary.bash; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
                      "_tributary; echo ${COMPREPLY[@]}")
            return set(output("bash", "-c", script).split())
        self.check(complete)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        def complete(line):
            lines = output("fish", "--no-config", "-c", f"source {MANUAL}/tributary.fish; complete -C '{line}'").splitlines()
            return {text.split("\t")[0] for text in lines}
        self.check(complete)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        shell = Zsh()
        self.addCleanup(shell.end)
        self.check(shell.complete)


class Zsh:
    """An interactive shell. It completes functions for widgets only, so a widget prints what it would insert."""

    START = rf"""PROMPT= RPROMPT=; unsetopt zle_bracketed_paste prompt_sp beep; fpath=({MANUAL} $fpath)
autoload -U compinit; compinit -u -D; zstyle ':completion:*' completer _complete; typeset -ga shown
compadd() {{
  builtin compadd "$@"; local -i end=$?; local -a found
  if (( ${{@[(i)-[OAD]]}} > $# )); then builtin compadd -O found "$@"; shown+=($found); fi
  return end
}}
show() {{ shown=(); zle complete-word; print -r "<<${{shown[*]}}>>"; BUFFER=; zle redisplay }}
zle -C complete-word complete-word _main_complete; zle -N show; bindkey '^I' show; print READY"""

    def __init__(self):
        self._terminal, inner = pty.openpty()
        self._shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
                                       env={**os.environ, "TERM": "dumb"})
        os.close(inner)
        for line in self.START.splitlines():
            os.write(self._terminal, line.encode() + b"\n")
        self._read(r"\nREADY")

    def _read(self, pattern):
        text, end = "", time.time() + 60
        while not re.search(pattern, text):
            if not select.select([self._terminal], [], [], max(0, end - time.time()))[0]:
                raise AssertionError(f"zsh printed {text!r}")
            text += os.read(self._terminal, 65536).decode()
        return re.search(pattern, text)

    def complete(self, line):
        os.write(self._terminal, line.encode() + b"\t")
        return set(self._read(r"<<(.*?)>>").group(1).split())

    def end(self):
        self._shell.kill()
        self._shell.wait()
        os.close(self._terminal)


if __name__ == "__main__":
    unittest.main()

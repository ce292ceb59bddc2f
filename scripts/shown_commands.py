#!/usr/bin/env python3
"""Prints the commands of iogauge that Markdown pages show, one a line: `whole` for a line of fenced code, `part` for
`code` in prose, which may be incomplete, then the words after the name of the program, quoted for the shell.

usage: scripts/shown_commands.py PAGE…
"""
import re
import shlex
import sys

# What may precede the program: a prompt, sudo, the arrow of a hint, YAML, the times of cron, `kubectl exec POD --`.
COMMAND = re.compile(r"^\s*(?:\$ |sudo |→ |- |run: |(?:[0-9*]+ ){5}|.* -- )*(?:\S*/)?iogauge(?:-mpi)? (\S.*)")


def code(page: str):
    """Lines of fenced code, with those that end in a backslash joined, and `code` in prose."""
    parts = re.split(r"^ *```.*\n", page.replace("\\\n", " "), flags=re.M)
    for number, part in enumerate(parts):
        if number % 2:
            yield from (("whole", line) for line in part.splitlines())
        else:
            yield from (("part", text) for text in re.findall(r"`([^`]+)`", part.replace("\n", " ")))


def words(command: str):
    """The words up to the end of the command, a redirection or a comment."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    for word in lexer:
        if set(word) <= set("|&;<>()"):
            return
        yield word


commands = set()
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as page:
        for kind, text in code(page.read()):
            if match := COMMAND.match(text):
                try:
                    commands.add(f"{kind} {shlex.join(words(match[1]))}")
                except ValueError as error:
                    sys.exit(f"{name}: {text}: {error}")
print("\n".join(sorted(commands)))

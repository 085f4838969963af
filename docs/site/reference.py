"""Reference pages written from what the program says about itself, so that they cannot drift from it."""
import json
import subprocess


class Program:
    def __init__(self, path):
        self.path = path

    def text(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=True)
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))


def command_names(help_text):
    """The names below 'Commands:' or 'Subcommands:' of a help text."""
    names, inside = [], False
    for line in help_text.splitlines():
        if line in ("Commands:", "Subcommands:"):
            inside = True
        elif not line.strip():
            inside = False
        elif inside and line.startswith("  ") and not line.startswith("   "):
            names.append(line.split()[0])
    return names


def commands_page(program):
    lines = ["# Commands", "", "What `lacuna COMMAND --help` prints.", ""]

    def add(path, level):
        text = program.text(*path, "--help")
        lines.extend(["#" * level + " lacuna " + " ".join(path), "", "```text", text.rstrip(), "```", ""])
        for name in command_names(text):
            add(path + [name], level + 1)

    for name in command_names(program.text("--help")):
        add([name], 2)
    return "\n".join(lines)


def cell(text):
    return str(text).replace("|", "\\|")


def parameter_table(params):
    lines = ["| parameter | default | allowed | what it is |", "|---|---|---|---|"]
    for p in params:
        default = f"{p['default']} {p.get('unit', '')}".strip() or "(none)"
        source = f" [{p['citation']}]" if p.get("citation") else ""
        lines.append(f"| `{p['name']}` | {cell(default)} | {cell(p['allowed'])} | {cell(p['help'] + source)} |")
    return lines


def parameters_page(program):
    shown = [program.json("arch", "show", listed["name"]) for listed in program.json("arch", "list")["machines"]]
    lines = ["# Parameters of every machine", "",
             "Set one with `--set NAME=VALUE`, or in a [configuration file](../docs/configuration.md).", ""]
    for machine in (m for m in shown if m["kind"] == "model"):
        summary = machine["summary"]
        lines += [f"## {machine['name']}", "", summary[0].upper() + summary[1:] + ".", "", f"Paper: {machine['paper']}", ""]
        lines += parameter_table(machine["params"]) + [""]
    lines += ["## Named configurations", "", "| name | of | what it is | it sets |", "|---|---|---|---|"]
    for named in (m for m in shown if m["kind"] != "model"):
        sets = ", ".join(f"`{p['name']}={p['value']}`" for p in named["params"] if p["changed"])
        lines.append(f"| `{named['name']}` | `{named['base']}` | {cell(named['summary'])} | {cell(sets)} |")
    return "\n".join(lines) + "\n"

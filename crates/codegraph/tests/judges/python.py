"""Compares a folder's Python graph with ruff, an independent judge.

usage: python.py CODEGRAPH RUFF DIR [--show]

Prints one JSON line: precision and recall of imports (against `ruff analyze graph`) and of unused imports (against
`ruff check --select F401`).
"""
import json
import os
import re
import subprocess
import sys

codegraph, ruff, root = sys.argv[1:4]
show = "--show" in sys.argv
root = os.path.realpath(root)


def unescape(text):
    return re.sub("%(25|7C|0A|0D|2C|3A)", lambda m: chr(int(m[1], 16)), text)


kg = subprocess.run([codegraph, "build", root, "--kg", "-", "--no-gitignore", "--build-output"], capture_output=True, text=True, check=True).stdout
nodes, imports, unused = {}, set(), set()
for line in kg.split("\n"):
    fields = line.split("|")
    if line.startswith("n"):
        parent = nodes.get(fields[2], (None, None))[0]
        name = unescape(fields[4])
        path = "" if parent is None else name if parent == "" else f"{parent}/{name}"
        nodes[fields[0]] = (path, fields[1])
    elif line.startswith("e") and fields[3] == "IMPORTS":
        imports.add((nodes[fields[1]][0], nodes[fields[2]][0]))
    elif line.startswith("i"):
        idle = set(fields[5].split(",")) - {""}
        for item in fields[4].split(","):
            imported, _, local = item.partition(":")
            if (local or imported) in idle:
                name = unescape(fields[1]).split(".")[0] if imported == "*" else unescape(imported)
                unused.add((nodes[fields[0][1:]][0], name))
files = {path for path, kind in nodes.values() if kind == "file" and path.endswith((".py", ".pyi"))}
imports = {(a, b) for a, b in imports if a in files and b in files}

graph = json.loads(subprocess.run([ruff, "analyze", "graph", "--isolated", "--preview", "."], cwd=root, capture_output=True, text=True, check=True).stdout)
# A directory without __init__ inside a package is one of its subpackages (PEP 420). ruff doesn't follow relative imports
# from there, so it is no judge of those files.
def is_namespace_inside_a_package(path):
    directory = os.path.dirname(path)
    has_init = lambda d: any(os.path.exists(os.path.join(root, d, f"__init__.{e}")) for e in ("py", "pyi"))
    return not has_init(directory) and directory != "" and has_init(os.path.dirname(directory))


imports = {(a, b) for a, b in imports if not is_namespace_inside_a_package(a)}
judged = {(a, b) for a, row in graph.items() for b in row if a in files and b in files and a != b and not is_namespace_inside_a_package(a)}

report = subprocess.run([ruff, "check", "--isolated", "--ignore-noqa", "--select", "F401", "--output-format", "json", "--exit-zero", "--no-respect-gitignore", "--no-cache", "."], cwd=root, capture_output=True, text=True, check=True).stdout
judged_unused = set()
for item in json.loads(report):
    path = os.path.relpath(item["filename"], root)
    name = re.match(r"`([^`]+)`", item["message"])
    if name and path in files:
        full = name[1].split(" as ")[0]
        source = open(os.path.join(root, path), errors="replace").read().split("\n")
        is_plain = re.match(r"\s*import\s", source[item["location"]["row"] - 1]) is not None
        judged_unused.add((path, full.split(".")[0] if is_plain else full.split(".")[-1]))


def score(mine, other, what):
    both = len(mine & other)
    if show:
        for item in sorted(mine - other)[:25]:
            print("  extra", what, item, file=sys.stderr)
        for item in sorted(other - mine)[:25]:
            print("  missing", what, item, file=sys.stderr)
    return {"ours": len(mine), "judge": len(other), "precision": round(both / max(1, len(mine)), 4) if mine else 1.0, "recall": round(both / max(1, len(other)), 4) if other else 1.0}


print(json.dumps({"subject": os.path.basename(root), "files": len(files), "imports": score(imports, judged, "import"), "unused": score(unused, judged_unused, "unused")}))

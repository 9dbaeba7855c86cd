#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every source file has to keep to. Each check below counts as one test and names file and line of what breaks it.

    tools/tidy.py [--quick] [--long] [--root FOLDER] [--only CHECK]...

--quick leaves out clang-tidy; --long adds the CPU cost of every translation unit and header.
"""

import argparse
import ast
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from tally import Tally  # noqa: E402

LINE = 120          # characters
FUNCTION = 70       # lines
FILE = 1 << 20      # bytes
TU_CPU_S = 15.0
HEADER_CPU_S = 0.7
SHOWN = 20          # findings printed of one check
WORKERS = max(1, int(os.environ.get("COMITY_JOBS", os.cpu_count() or 2)))

# header -> where it may stand; a folder ends with /
QUARANTINE = [
    (r"nlohmann/|simdjson", lambda p: p.endswith(".cc"), "in .cc files only"),
    (r"CLI/|CLI11", lambda p: p.startswith("src/cli/"), "in src/cli/ only"),
    (r"spdlog/", lambda p: p == "src/base/log.cc", "in src/base/log.cc only"),
    (r"toml\+\+/|toml\.hpp|toml\.h$", lambda p: p == "src/base/toml.cc", "in src/base/toml.cc only"),
    (r"yaml-cpp/", lambda p: p == "src/workload/foreign/yaml.cc", "in src/workload/foreign/yaml.cc only"),
    (r"boost/", lambda p: p.startswith("src/wire/"), "in src/wire/ only"),
    (r"Eigen/", lambda p: p.startswith("src/math/") or (p.startswith("src/learn/") and p.endswith(".cc")),
     "in src/math/ and .cc files of src/learn/ only"),
    (r"openssl/", lambda p: p.startswith(("src/wire/", "src/crypt/")), "in src/wire/ and src/crypt/ only"),
    (r"sodium", lambda p: p == "src/trace/key.cc" or p.startswith("src/crypt/"),
     "in src/trace/key.cc and src/crypt/ only"),
    (r"sqlite3|SQLiteCpp|pqxx", lambda p: p.startswith("src/store/"), "in src/store/ only"),
]

PURE = ("src/sched/", "src/cluster/", "src/plan/")


def everywhere(_):
    return True


def in_pure(path):
    return path.startswith(PURE)


# what must not be called -> where the rule holds -> what to do instead
BANNED = [
    (r"(?<![\w.>])(?:std::)?s?rand\s*\(", everywhere, "draw from base/rng.h"),
    (r"\bstd::random_device\b", lambda p: not p.startswith("src/crypt/"), "seeds come in from outside (base/rng.h)"),
    (r"(?<![\w.>])(?:std::)?(?:strcpy|strcat|sprintf|vsprintf|gets)\s*\(", everywhere, "use std::string or fmt"),
    (r"(?<![\w.>])(?:std::)?strtok\s*\(", everywhere, "use split() of base/text.h"),
    (r"(?<![\w.>])(?:std::)?(?:atoi|atol|atoll|atof|stoi|stol|stoll|stod|stof)\s*\(", everywhere,
     "use parse_int() or parse_double() of base/text.h"),
    (r"(?<![\w.>])(?:std::)?system\s*\(", everywhere, "start processes without a shell"),
    (r"(?<![\w.>])(?:std::)?time\s*\(\s*(?:nullptr|NULL|0|&)", in_pure, "time comes in with the event"),
    (r"\b(?:system|steady|high_resolution)_clock\b|\b(?:clock_gettime|gettimeofday|steady_ns)\s*\(", in_pure,
     "time comes in with the event"),
    (r"\bstd::(?:j?thread|async|mutex|shared_mutex|condition_variable)\b", in_pure, "this library has no threads"),
    (r"#\s*include\s*<(?:thread|mutex|fstream|iostream|future|sys/socket\.h)>", in_pure,
     "no threads, files or sockets here"),
]


# --- the tree -----------------------------------------------------------------------------------


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = sorted(self._list())
        self.cpp = [f for f in self.files
                    if f.startswith(("src/", "include/", "bench/", "tests/")) and f.endswith((".cc", ".h"))]

    def _list(self):
        if (self.root / ".git").exists() and shutil.which("git"):
            command = ["git", "-c", f"safe.directory={self.root}", "ls-files", "-co", "--exclude-standard", "-z"]
            done = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
            if done.returncode == 0:
                return {f for f in done.stdout.split("\0") if f and (self.root / f).is_file()}
        skipped = {"build", "out", ".git", ".cache", "node_modules", "__pycache__"}
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [d for d in folders if d not in skipped]
            found |= {str((pathlib.Path(folder) / n).relative_to(self.root)) for n in names}
        return found

    @functools.cache
    def text(self, path):
        return (self.root / path).read_bytes().decode("utf-8", errors="replace")

    @functools.cache
    def code(self, path):
        return without_literals(self.text(path))

    def shell(self):
        return [f for f in self.files if f.endswith(".sh") or f in ("run", "test", ".ci/run")]

    def sources(self):
        """Everything that people write as code."""
        ends = (".cc", ".h", ".py", ".sh", ".cmake", ".ts", ".tsx", "CMakeLists.txt")
        return [f for f in self.files if f.endswith(ends) or f in ("run", "test", ".ci/run")]


LITERALS = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<d>[^\s()\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*\""""
                      r"""|(?<![\w'])'(?:\\.|[^'\\\n])+'""", re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def without_literals(text):
    """The same text with comments and literals blanked (#include names stay), lines kept."""
    def blank(m):
        before = text[text.rfind("\n", 0, m.start()) + 1:m.start()]
        directive = before.lstrip().startswith("#") and m.group(0)[0] == '"'
        return m.group(0) if directive else re.sub(r"[^\n]", " ", m.group(0))

    return LITERALS.sub(blank, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


# --- checks: generators of findings -------------------------------------------------------------


def read_layers(tree):
    """library -> everything that it may include, from cmake/layers.txt. Raises ValueError on a bad line."""
    direct = {}
    for number, line in enumerate(tree.text("cmake/layers.txt").splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, colon, rest = line.partition(":")
        if not colon or name.strip() in direct:
            raise ValueError(f"cmake/layers.txt:{number}: expected one \"library: library...\" a library")
        direct[name.strip()] = rest.split()
    closure = {}

    def close(name, above=()):
        if name in above:
            raise ValueError(f"cmake/layers.txt: a circle: {' -> '.join([*above, name])}")
        if name not in direct:
            raise ValueError(f"cmake/layers.txt: {name} has no line of its own")
        if name not in closure:
            closure[name] = {name}.union(*(close(n, (*above, name)) for n in direct[name]))
        return closure[name]

    for name in direct:
        close(name)
    return closure


def layers(tree):
    """A library includes only what cmake/layers.txt allows."""
    try:
        allowed = read_layers(tree)
    except (ValueError, OSError) as e:
        yield str(e)
        return
    for path in tree.cpp:
        if not path.startswith("src/"):
            continue
        library = path.split("/")[1]
        if library not in allowed:
            yield f"{path}: src/{library} has no line in cmake/layers.txt"
            continue
        for m in INCLUDE.finditer(tree.text(path)):
            if m.group(1) != '"':
                continue
            at = f"{path}:{line_of(tree.text(path), m.start())}"
            other = m.group(2).split("/")[0]
            if f"src/{m.group(2)}" not in tree.files:
                yield f"{at}: \"{m.group(2)}\" is no file; write the path from src/"
            elif other not in allowed[library]:
                yield f"{at}: {library} may not include {other} (cmake/layers.txt)"


def quarantine(tree):
    """Heavy headers stay where they were put, and a public header shows no type of theirs."""
    for path in tree.cpp:
        if not path.startswith(("src/", "include/")):
            continue
        for m in INCLUDE.finditer(tree.text(path)):
            for pattern, may, where in QUARANTINE:
                if m.group(1) == "<" and re.match(pattern, m.group(2)) and not may(path):
                    yield f"{path}:{line_of(tree.text(path), m.start())}: <{m.group(2)}> is allowed {where}"


def line_length(tree):
    """No line over 120 characters."""
    for path in tree.sources():
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            if len(line) > LINE and "://" not in line:
                yield f"{path}:{number}: {len(line)} characters, {LINE} are allowed"


SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum)\b|\bextern\s*$")


def cpp_functions(code):
    """(first line, last line) of every function body, by following braces."""
    stack = []  # (is scope, first line when it is a function)
    begin = 0
    for m in re.finditer(r"[{};]", code):
        head = code[begin:m.start()]
        if m.group(0) == "{":
            inside_scope = all(scope for scope, _ in stack)
            plain = re.sub(r"\([^()]*\)", "", re.sub(r"<[^<>]*>", "", head))
            scope = bool(SCOPE.search(plain)) and not head.rstrip().endswith(")")
            function = inside_scope and not scope and "(" in head
            first = line_of(code, begin + len(head) - len(head.lstrip()))
            stack.append((scope, first if function else 0))
        elif m.group(0) == "}" and stack:
            _, first = stack.pop()
            if first:
                yield first, line_of(code, m.start())
        begin = m.end()


def function_length(tree):
    """No function over 70 lines."""
    for path in tree.cpp:
        code = re.sub(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", "", tree.code(path), flags=re.M)
        for first, last in cpp_functions(code):
            if last - first + 1 > FUNCTION:
                yield f"{path}:{first}: a function of {last - first + 1} lines, {FUNCTION} are allowed"
    for path in tree.files:
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(tree.text(path))):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    lines = node.end_lineno - node.lineno + 1
                    if lines > FUNCTION:
                        yield f"{path}:{node.lineno}: {node.name} has {lines} lines, {FUNCTION} are allowed"


def banned_calls(tree):
    """No call that hides state, overflows, or brings a clock or a thread into a pure library."""
    for path in tree.cpp:
        if not path.startswith(("src/", "include/", "bench/")):
            continue
        for pattern, holds, instead in BANNED:
            if holds(path) and not path.endswith("_test.cc"):
                for m in re.finditer(pattern, tree.code(path)):
                    yield f"{path}:{line_of(tree.code(path), m.start())}: {m.group(0).strip()}...: {instead}"


def spdx(tree):
    """The first line (after #!) names the licence."""
    more = [f for f in tree.files if f in (".clang-format", ".clang-tidy", ".editorconfig") or
            (f.endswith(".toml") and f.startswith("tests/"))]
    for path in [*tree.sources(), *more]:
        lines = tree.text(path).splitlines()
        first = lines[1:2] if lines and lines[0].startswith("#!") else lines[:1]
        if not first or "SPDX-License-Identifier: Apache-2.0" not in first[0]:
            yield f"{path}:1: no line \"SPDX-License-Identifier: Apache-2.0\""


def described(tree):
    """Every folder of src/ that holds code is described in docs/architecture.md."""
    text = tree.text("docs/architecture.md") if "docs/architecture.md" in tree.files else ""
    folders = {str(pathlib.PurePosixPath(f).parent).removeprefix("src/") for f in tree.cpp if f.startswith("src/")}
    for folder in sorted(folders):
        if not re.search(rf"`(?:src/)?{re.escape(folder)}/?`", text):
            yield f"src/{folder} is not in docs/architecture.md"


def file_size(tree):
    """No file over 1 MB."""
    for path in tree.files:
        size = (tree.root / path).stat().st_size
        if size > FILE:
            yield f"{path}: {size} bytes, {FILE} are allowed"


def unfinished(tree):
    """Nothing is left for later in the code: open work is an issue."""
    marks = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK")) + r")\b")
    for path in tree.sources():
        for m in marks.finditer(tree.text(path)):
            yield f"{path}:{line_of(tree.text(path), m.start())}: {m.group(0)}"


def white_space(tree):
    """LF, no tabs, nothing at the end of a line, a newline at the end of a file."""
    for path in [f for f in tree.files if f in tree.sources() or f.endswith((".md", ".toml", ".txt", ".scd", ".json"))]:
        if path.startswith("tests/golden/") or path.startswith("tests/fuzz/"):
            continue
        text = tree.text(path)
        if text and not text.endswith("\n"):
            yield f"{path}: no newline at the end"
        for number, line in enumerate(text.split("\n"), 1):
            indent = line[:len(line) - len(line.lstrip())]
            if line != line.rstrip() or ("\t" in indent and not path.endswith(".scd")):
                yield f"{path}:{number}: white space at the end, or a tab"


def headers(tree):
    """A header says #pragma once and brings no namespace into its users."""
    for path in tree.cpp:
        if path.endswith(".h"):
            if "#pragma once" not in tree.code(path):
                yield f"{path}: no #pragma once"
            for m in re.finditer(r"\busing\s+namespace\b", tree.code(path)):
                yield f"{path}:{line_of(tree.code(path), m.start())}: using namespace"


def links(tree):
    """A link from one document to another leads somewhere."""
    for path in tree.files:
        if not path.endswith(".md"):
            continue
        text = re.sub(r"```.*?```", lambda m: re.sub(r"[^\n]", " ", m.group(0)), tree.text(path), flags=re.S)
        for m in re.finditer(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            target = m.group(1)
            if "://" not in target and not (tree.root / path).parent.joinpath(target).exists():
                yield f"{path}:{line_of(text, m.start())}: {target} is not there"


def scripts(tree):
    """Shell and Python parse."""
    for path in tree.shell():
        done = subprocess.run(["bash", "-n", path], cwd=tree.root, capture_output=True, text=True)
        if done.returncode != 0:
            yield done.stderr.strip()
    for path in tree.files:
        if path.endswith(".py"):
            try:
                ast.parse(tree.text(path))
            except SyntaxError as e:
                yield f"{path}:{e.lineno}: {e.msg}"


def clang_format(tree):
    """clang-format-19 would change nothing."""
    program = shutil.which("clang-format-19")
    if program is None:
        yield "clang-format-19 is not installed"
        return
    files = [f for f in tree.cpp if f.startswith(("src/", "include/", "bench/"))]
    if not files:
        return
    done = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *files], cwd=tree.root,
                          capture_output=True, text=True)
    yield from [line for line in done.stderr.splitlines() if ": error:" in line]
    if done.returncode != 0 and ": error:" not in done.stderr:
        yield done.stderr.strip()


# --- clang-tidy, kept by content ----------------------------------------------------------------


def with_includes(tree, path, seen):
    """`path` and every file of src/ that it includes, directly or not."""
    if path in seen or path not in tree.files:
        return seen
    seen.add(path)
    for m in INCLUDE.finditer(tree.text(path)):
        if m.group(1) == '"':
            with_includes(tree, f"src/{m.group(2)}", seen)
    return seen


def compile_commands(tree):
    """path -> the compiler's words, without a launcher in front, from the release tree."""
    file = tree.root / "build" / "release" / "compile_commands.json"
    found = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        path = os.path.relpath(entry["file"], tree.root)
        words = entry["command"].split()
        while pathlib.Path(words[0]).name in ("ccache", "sccache"):
            words.pop(0)
        if path in tree.files:
            found[path] = (words, entry["directory"])
    return found


def run_clang_tidy(tree, program, path, words, cache):
    key = hashlib.sha256(program.encode() + " ".join(words).encode() + tree.text(".clang-tidy").encode())
    for file in sorted(with_includes(tree, path, set())):
        key.update(file.encode() + b"\0" + tree.text(file).encode())
    kept = cache / key.hexdigest()
    if kept.exists():
        return []
    done = subprocess.run([program, "-p", "build/release", "--quiet", "--extra-arg=-Wno-unknown-warning-option", path],
                          cwd=tree.root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = sorted({line.replace(f"{tree.root}/", "") for line in done.stdout.splitlines()
                    if ": error:" in line or ": warning:" in line})
    if done.returncode == 0 and not found:
        kept.touch()
        return []
    return found or [f"{path}: clang-tidy ended with {done.returncode}: {done.stderr.strip()[-500:]}"]


def clang_tidy(tree):
    """clang-tidy-19 finds nothing in the sources that ship (.clang-tidy says what it looks for)."""
    program = shutil.which("clang-tidy-19")
    if program is None:
        yield "clang-tidy-19 is not installed"
        return
    try:
        commands = compile_commands(tree)
    except (OSError, ValueError) as e:
        yield f"build the release tree first: {e}"
        return
    cache = tree.root / "build" / "tidy-cache"
    cache.mkdir(parents=True, exist_ok=True)
    todo = [(p, w) for p, (w, _) in sorted(commands.items()) if not p.endswith(("_test.cc", "_fuzz.cc"))]
    with ThreadPoolExecutor(WORKERS) as pool:
        for found in pool.map(lambda pw: run_clang_tidy(tree, program, *pw, cache), todo):
            yield from found


# --- what a compiler pays -----------------------------------------------------------------------


def cpu_of(words, folder):
    """CPU seconds of one command, or None when it fails."""
    process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime if process.returncode == 0 else None


def without_output(words):
    """Compile flags alone: no -c, -o FILE, dependency files, and no source."""
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-c", "-MD", "-MMD") and not word.endswith(".cc"):
            kept.append(word)
    return kept


def translation_units(tree):
    """No translation unit costs over 15 CPU s."""
    for path, (words, folder) in sorted(compile_commands(tree).items()):
        cost = cpu_of([*without_output(words), "-c", str(tree.root / path), "-o", "/dev/null"], folder)
        if cost is None or cost > TU_CPU_S:
            what = "does not compile" if cost is None else f"{cost:.1f} CPU s, {TU_CPU_S:.0f} are allowed"
            yield f"{path}: {what}"


def header_cost(tree):
    """No header of ours costs over 0.7 CPU s."""
    commands = compile_commands(tree)
    for path in [f for f in tree.cpp if f.startswith("src/") and f.endswith(".h")]:
        beside = [c for p, c in commands.items() if p.startswith("/".join(path.split("/")[:2]) + "/")]
        if not beside:
            continue
        words, folder = beside[0]
        command = [*without_output(words), "-fsyntax-only", "-x", "c++", "-include", str(tree.root / path), "/dev/null"]
        costs = [cpu_of(command, folder) for _ in range(2)]
        if None in costs or min(costs) > HEADER_CPU_S:
            yield f"{path}: " + ("does not compile alone" if None in costs else
                                 f"{min(costs):.2f} CPU s, {HEADER_CPU_S} are allowed")


CHECKS = [layers, quarantine, line_length, function_length, banned_calls, spdx, described, file_size, unfinished,
          white_space, headers, links, scripts, clang_format]


def main():
    parser = argparse.ArgumentParser(description="Check what every source file has to keep to.")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    tree = Tree(args.root)
    checks = CHECKS + ([clang_tidy, translation_units, header_cost] if args.long else [])
    if args.only:
        known = {c.__name__: c for c in [*CHECKS, clang_tidy, translation_units, header_cost]}
        if unknown := [n for n in args.only if n not in known]:
            parser.error(f"no check {', '.join(unknown)}; there are {', '.join(known)}")
        checks = [known[n] for n in args.only]
    tally = Tally()
    for check in checks:
        try:
            found = list(check(tree))
        except (OSError, ValueError, SyntaxError) as e:
            found = [f"{type(e).__name__}: {e}"]
        if found:
            more = [f"... and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
            tally.fail(f"tidy {check.__name__}: {check.__doc__}", "\n".join(found[:SHOWN] + more))
        else:
            tally.ok()
    tally.finish()


if __name__ == "__main__":
    main()

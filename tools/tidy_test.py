#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one violation of each kind in a small tree and expects the right check to find it, and nothing in the clean
tree."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tidy  # noqa: E402
from tally import Tally  # noqa: E402

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HASH = "# SPDX-License-Identifier: Apache-2.0\n"
CLEAN = {
    ".clang-format": HASH + "BasedOnStyle: Google\n",
    "cmake/layers.txt": "base:\ncluster: base\nsched: cluster\ncli: sched\n",
    "docs/architecture.md": "`base` `sched/` `src/cluster` `cli`\n",
    "src/base/text.h": SPDX + "#pragma once\n\nint text();\n",
    "src/base/text.cc": SPDX + '#include "base/text.h"\n\n// rand() in a comment, "rand(" below in a literal\n'
                               'const char* kText = "rand(); system(";\n\nint text() { return 1; }\n',
    "src/cluster/state.h": SPDX + '#pragma once\n\n#include "base/text.h"\n',
    "src/sched/fifo.cc": SPDX + '#include "base/text.h"\n#include "cluster/state.h"\n\nint fifo() { return text(); }\n',
    "src/cli/main.cc": SPDX + '#include "sched/policy.h"\n',
    "src/sched/policy.h": SPDX + "#pragma once\n",
    "tools/x.py": "#!/usr/bin/env python3\n" + HASH + "print(1)\n",
    "run": "#!/usr/bin/env bash\n" + HASH + "true\n",
}

LONG_BODY = "".join(f"  x += {i};\n" for i in range(70))


def cc(text):
    return SPDX + text


# (check, file, its content, a part of the finding)
PLANTED = [
    ("layers", "src/base/up.cc", cc('#include "sched/policy.h"\n'), "base may not include sched"),
    ("layers", "src/cluster/up.h", cc('#pragma once\n#include "sched/policy.h"\n'), "up.h:3"),
    ("layers", "src/base/none.cc", cc('#include "base/none.h"\n'), "is no file"),
    ("layers", "src/other/new.cc", cc("int n;\n"), "no line in cmake/layers.txt"),
    ("layers", "cmake/layers.txt", "base: sched\ncluster: base\nsched: cluster\ncli: sched\n", "circle"),
    ("layers", "cmake/layers.txt", "base:\ncluster: none\nsched: cluster\ncli: sched\n", "no line of its own"),
    ("quarantine", "src/base/j.h", cc("#pragma once\n#include <nlohmann/json.hpp>\n"), "nlohmann"),
    ("quarantine", "src/base/j.h", cc("#pragma once\n#include <simdjson.h>\n"), "simdjson"),
    ("quarantine", "src/sched/c.cc", cc("#include <CLI/CLI.hpp>\n"), "src/cli/"),
    ("quarantine", "src/base/other.cc", cc("#include <spdlog/spdlog.h>\n"), "log.cc"),
    ("quarantine", "src/base/other.cc", cc("#include <toml++/toml.h>\n"), "toml.cc"),
    ("quarantine", "src/cli/net.cc", cc("#include <boost/asio.hpp>\n"), "src/wire/"),
    ("line_length", "src/base/long.cc", cc("// " + "x" * 118 + "\n"), "121 characters"),
    ("function_length", "src/base/long.cc", cc("int f(int x) {\n" + LONG_BODY + "  return x;\n}\n"), "73 lines"),
    ("function_length", "src/base/long.cc",
     cc("namespace a {\nclass B {\n  int f(int x) const {\n" + LONG_BODY + "    return x;\n  }\n};\n}\n"), "long.cc:4"),
    ("function_length", "tools/long.py", HASH + "def f(x):\n" + LONG_BODY.replace(";", "") + "  return x\n",
     "f has 72"),
    ("banned_calls", "src/base/r.cc", cc("int r() { return rand(); }\n"), "base/rng.h"),
    ("banned_calls", "src/base/r.cc", cc("void r() { std::srand(1); }\n"), "base/rng.h"),
    ("banned_calls", "src/base/r.cc", cc("std::random_device d;\n"), "seeds"),
    ("banned_calls", "src/base/r.cc", cc("void r(char* a) { strcpy(a, a); }\n"), "strcpy"),
    ("banned_calls", "src/base/r.cc", cc('void r(char* a) { sprintf(a, ""); }\n'), "sprintf"),
    ("banned_calls", "src/base/r.cc", cc("void r(char* a) { strtok(a, a); }\n"), "strtok"),
    ("banned_calls", "src/base/r.cc", cc("int r(char* a) { return atoi(a); }\n"), "parse_int"),
    ("banned_calls", "src/base/r.cc", cc("int r(char* a) { return std::system(a); }\n"), "shell"),
    ("banned_calls", "src/sched/r.cc", cc("long r() { return time(nullptr); }\n"), "with the event"),
    ("banned_calls", "src/cluster/r.cc", cc("auto r() { return std::chrono::system_clock::now(); }\n"),
     "with the event"),
    ("banned_calls", "src/sched/r.cc", cc("std::thread t;\n"), "threads"),
    ("banned_calls", "src/sched/r.cc", cc("#include <fstream>\n"), "no threads, files"),
    ("spdx", "src/base/s.cc", "int s;\n", "s.cc:1"),
    ("spdx", "tools/s.py", "#!/usr/bin/env python3\nprint(1)\n", "s.py:1"),
    ("spdx", "test", "#!/usr/bin/env bash\ntrue\n", "test:1"),
    ("spdx", "src/base/CMakeLists.txt", "project(x)\n", "CMakeLists.txt:1"),
    ("described", "src/sched/sub/x.cc", cc("int x;\n"), "src/sched/sub"),
    ("file_size", "docs/big.bin", "x" * (1 << 20) + "x", "big.bin"),
    ("unfinished", "src/base/t.cc", cc("// TO" "DO later\n"), "t.cc:2"),
    ("unfinished", "tools/t.py", HASH + "# FIX" "ME\n", "t.py:2"),
    ("white_space", "src/base/w.cc", cc("int w; \n"), "w.cc:2"),
    ("white_space", "src/base/w.cc", cc("int w;\r\n"), "w.cc:2"),
    ("white_space", "src/base/w.cc", cc("int w;"), "no newline"),
    ("headers", "src/base/h.h", cc("int h();\n"), "pragma once"),
    ("headers", "src/base/h.h", cc("#pragma once\nusing namespace std;\n"), "using namespace"),
    ("links", "docs/l.md", "[there](nowhere.md)\n", "nowhere.md"),
    ("scripts", "tools/s.sh", HASH + "if true; then\n", "s.sh"),
    ("scripts", "tools/s.py", HASH + "def f(:\n", "s.py:2"),
    ("clang_format", "src/base/f.cc", cc("int   f( ){return 1;}\n"), "f.cc:2"),
]


def build(folder, planted=None):
    for path, text in {**CLEAN, **(planted or {})}.items():
        file = pathlib.Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return tidy.Tree(folder)


def main():
    tally = Tally()
    for check in tidy.CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            found = list(check(build(folder)))
        if found:
            tally.fail(f"tidy_test: a clean tree passes {check.__name__}", "\n".join(found))
        else:
            tally.ok()
    for name, path, text, part in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            found = list(getattr(tidy, name)(build(folder, {path: text})))
        if any(part in f for f in found):
            tally.ok()
        else:
            tally.fail(f"tidy_test: {name} finds what was planted in {path}", f"expected {part!r} in {found}")
    unused = {c.__name__ for c in tidy.CHECKS} - {name for name, *_ in PLANTED}
    if unused:
        tally.fail("tidy_test: every check has a planted violation", f"{sorted(unused)} has none")
    tally.finish()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a replay's report.html in headless Chromium, offline, on a wide and a narrow screen in both themes: no console
error, nothing asked of a network, nothing wider than the screen, text that can be read; and the table's numbers are
those of summary.json. Pictures of each view are left in build/report.

    tests/report/check.py [FOLDER]     default out/main
"""

import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "report")]
from browser import Browser  # noqa: E402
from tally import Tally  # noqa: E402

BINARY = pathlib.Path(os.environ.get("COMITY_BINARY", ROOT / "build" / "release" / "comity")).resolve()
VIEWS = [(width, height, theme) for width, height in ((1280, 900), (390, 844)) for theme in ("light", "dark")]
# column of the page, field of the JSON, half a unit of the last place shown
NUMBERS = [("avg JCT s", "avg_jct_s", 0.005), ("avg queue s", "avg_queue_s", 0.005),
           ("makespan s", "makespan_s", 0.005), ("preempted", "preemptions", 0)]

TABLE = """
const table = document.querySelector('table');
const cells = row => [...row.children].map(c => c.textContent.trim());
return {columns: cells(table.tHead.rows[0]), rows: [...table.tBodies[0].rows].map(cells)};
"""
# The elements that reach beyond the right edge of the screen and are not inside of something that scrolls.
TOO_WIDE = """
const screen = arguments[0];
const wide = [...document.querySelectorAll('body *')].filter(e => {
  if (e.closest('svg') !== null && e.tagName.toLowerCase() !== 'svg') return false;
  if (e.getBoundingClientRect().right <= screen + 0.5) return false;
  for (let p = e; p; p = p.parentElement) if (/auto|scroll|hidden/.test(getComputedStyle(p).overflowX)) return false;
  return true;
});
return {scroll: document.documentElement.scrollWidth, screen: screen,
        wide: wide.slice(0, 5).map(e => e.tagName + '.' + e.className.toString())};
"""
COLOURS = """
const style = getComputedStyle(document.body), root = getComputedStyle(document.documentElement);
const clear = c => c === 'rgba(0, 0, 0, 0)' || c === 'transparent';
return [style.color, clear(style.backgroundColor) ? root.backgroundColor : style.backgroundColor];
"""


def luminance(colour):
    channels = [float(c) / 255 for c in re.findall(r"[\d.]+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def check(tally, name, wrong):
    if wrong:
        tally.fail(f"report: {name}", str(wrong))
    else:
        tally.ok()


def check_view(browser, tally, url, view, page="main"):
    width, height, theme = view
    name = f"{page}, {width} px, {theme}"
    browser.emulate(width, height, theme)
    browser.log("browser")
    browser.log("performance")
    browser.open(url)
    shape = browser.script(TOO_WIDE, width)
    check(tally, f"nothing is wider than the screen ({name})",
          shape if shape["wide"] or shape["scroll"] > shape["screen"] else None)
    said = [e["message"] for e in browser.log("browser") if e["level"] in ("SEVERE", "WARNING")]
    check(tally, f"nothing on the console ({name})", "\n".join(said))
    events = [json.loads(e["message"])["message"] for e in browser.log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    check(tally, f"nothing comes from a network ({name})",
          [u[:200] for u in asked if not u.startswith(("file:", "data:", "about:"))])
    text, ground = browser.script(COLOURS)
    ratio = contrast(text, ground)
    check(tally, f"text stands out ({name})", f"{text} on {ground}: {ratio:.1f}" if ratio < 7 else None)
    out = ROOT / "build" / "report"
    out.mkdir(parents=True, exist_ok=True)
    browser.screenshot(out / f"{page}-{width}-{theme}.png")
    return ground


def number(text):
    return float(text.replace("*", "").replace(",", "").strip())


def check_numbers(tally, page, runs):
    columns, rows = page["columns"], {r[0]: r for r in page["rows"]}
    check(tally, "a row for each run", sorted(rows) if sorted(rows) != sorted(r["policy"] for r in runs) else None)
    for column, field, half in NUMBERS:
        wrong = []
        for run in runs:
            shown = number(rows[run["policy"]][columns.index(column)])
            if abs(shown - run[field]) > half + 1e-6:
                wrong.append(f"{run['policy']}: the page says {shown}, the JSON {run[field]}")
        check(tally, f"{column} is the JSON's {field}", "\n".join(wrong))


def near(shown, exact, digits):
    return abs(number(shown) - exact) <= 0.5001 * 10.0 ** (len(str(int(abs(exact)))) - digits if abs(exact) >= 1 else
                                                          math.floor(math.log10(abs(exact))) + 1 - digits)


def check_step(tally, page, summary):
    parts = {r[0]: r[page["columns"].index("seconds")] for r in page["rows"]}
    exact = dict(summary["breakdown_s"], step=summary["iteration_s"])
    for name in ("forward", "bubble", "tp", "step"):
        check(tally, f"step: {name} is the JSON's",
              None if near(parts[name], exact[name], 5) else f"the page says {parts[name]}, the JSON {exact[name]}")


def check_plan(tally, page, summary):
    best = summary["candidates"][0]
    row = dict(zip(page["columns"], page["rows"][0]))
    for column, exact, half in (("step s", best["iteration_s"], None), ("MFU %", 100 * best["mfu"], 0.0501),
                                ("memory GiB", best["memory_bytes"] / 2**30, 0.0501)):
        good = near(row[column], exact, 4) if half is None else abs(number(row[column]) - exact) <= half
        check(tally, f"plan: {column} is the JSON's",
              None if good else f"the page says {row[column]}, the JSON {exact}")


# folder, command, numbers
PAGES = [("step", ["iteration", "estimate", "--model", "gpt3-175b", "--system", "dgx-a100", "--tp", "8", "--pp", "8",
                   "--virtual-stages", "3", "--batch", "64"], check_step),
         ("plan", ["plan", "parallelism", "--model", "llama2-70b", "--system", "dgx-h100", "--gpus", "32", "--batch",
                   "128", "--megatron"], check_plan)]


def check_pages(browser, tally):
    for name, command, check_page in PAGES:
        folder = ROOT / "build" / "report" / name
        made = subprocess.run([str(BINARY), *command, "--out", str(folder), "-q"], capture_output=True, text=True,
                              check=False)
        check(tally, f"{name}: a page", made.stderr if made.returncode != 0 else None)
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        for view in VIEWS:
            check_view(browser, tally, (folder / "report.html").as_uri(), view, name)
        check_page(tally, browser.script(TABLE), summary)
        charts = browser.script("return document.querySelectorAll('svg').length")
        check(tally, f"{name}: it has pictures", f"{charts} charts" if charts < 1 else None)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "out" / "main").resolve()
    tally = Tally()
    missing = [p for p in ("chromium", "chromedriver") if not shutil.which(p)]
    if missing:
        tally.skip("report in a browser", f"{' and '.join(missing)} not installed", shared=True)
        tally.finish()
    try:
        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        url = (folder / "report.html").as_uri()
        with Browser() as browser:
            grounds = {view: check_view(browser, tally, url, view) for view in VIEWS}
            check_numbers(tally, browser.script(TABLE), summary["runs"])
            charts = browser.script("return document.querySelectorAll('svg').length")
            check(tally, "it has pictures", f"{charts} charts" if charts < 5 else None)
            inside = json.loads(browser.script("return document.getElementById('data').textContent"))
            check(tally, "the data inside is summary.json", "they differ" if inside != summary else None)
            check_pages(browser, tally)
        check(tally, "the themes differ", grounds if len(set(grounds.values())) < 2 else None)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as e:
        tally.fail("report in a browser", f"{type(e).__name__}: {e}")
    tally.finish()


if __name__ == "__main__":
    main()

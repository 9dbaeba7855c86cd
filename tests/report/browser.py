# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium driven through chromedriver's HTTP protocol, with nothing but the standard library."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.request

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--allow-file-access-from-files"]


class Browser:
    """with Browser() as b: b.open(url); b.script("return 1"). Every name look-up fails, so the page is offline."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="comity-browser-")
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.session = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.base = f"http://127.0.0.1:{found.group(1)}"
                break
        else:
            raise RuntimeError("chromedriver did not start")
        options = {"args": [*FLAGS, f"--user-data-dir={self.profile}"]}
        if program := shutil.which("chromium"):
            options["binary"] = program
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = made["sessionId"]

    def __exit__(self, *_):
        if self.session:
            try:
                self._call("DELETE", f"/session/{self.session}")
            except OSError:
                pass
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _call(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def _ask(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}/{path}", body)

    def devtools(self, command, **parameters):
        return self._ask("POST", "goog/cdp/execute", {"cmd": command, "params": parameters})

    def emulate(self, width, height, theme):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                      mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])

    def open(self, url):
        self._ask("POST", "url", {"url": url})

    def script(self, text, *arguments):
        return self._ask("POST", "execute/sync", {"script": text, "args": list(arguments)})

    def log(self, kind):
        """What came into the log "browser" (the console) or "performance" (DevTools events) since the last call."""
        return self._ask("POST", "se/log", {"type": kind})

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._ask("GET", "screenshot")))

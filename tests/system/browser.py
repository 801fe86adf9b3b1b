# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium, driven over the W3C WebDriver protocol with nothing but the library."""

import base64
import json
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request

from hosts import Failure

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--hide-scrollbars"]
KEY = {"left": "\ue012", "right": "\ue014", "home": "\ue011", "end": "\ue010"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


def is_there():
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


class Browser:
    """With `with`: a session in a fresh profile, gone at the end."""

    def __init__(self, width=1280, height=1000, dark=False):
        self.width, self.height, self.dark = width, height, dark

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="verbena-browser-",
                                                   ignore_cleanup_errors=True)
        # Port 0: the driver takes a free one and says which.
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, text=True)
        self.session = None
        try:
            for line in self.driver.stdout:
                if "started successfully on port" in line:
                    self.url = "http://127.0.0.1:" + line.rstrip(".\n ").split()[-1]
                    break
            else:
                raise RuntimeError("chromedriver did not start")
            options = {"args": ARGUMENTS + [
                f"--user-data-dir={self.profile.name}",
                f"--window-size={self.width},{self.height}",
                "--force-device-scale-factor=1"]}
            if self.dark:
                options["args"].append("--blink-settings=preferredColorScheme=0")
            answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL"}}}})
            self.session = "/session/" + answer["sessionId"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if self.session:
                self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.driver.stdout.close()
            self.profile.cleanup()

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"},
                                         method=method)
        # No proxy of the environment stands between.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise Failure(f"the browser says to {path}: {e.read().decode()[:500]}") from e

    def command(self, name, body):
        return self.call("POST", f"{self.session}/{name}", body)

    def open(self, path):
        self.command("url", {"url": "file://" + str(path)})

    def run(self, script, *arguments):
        """Runs JavaScript in the page; its `return` is returned."""
        return self.command("execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.command("element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.command(f"element/{self.find(selector)}/click", {})

    def press(self, selector, text):
        self.command(f"element/{self.find(selector)}/value", {"text": text})

    def errors(self):
        """The lines of the console since it was asked last, but for mere words."""
        return [entry["message"] for entry in self.command("se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

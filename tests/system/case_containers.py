# SPDX-License-Identifier: BSD-2-Clause
"""Recipes for containers and CI, as far as they can be shown without any: the step for GitHub Actions does on this machine
what it would do there, and the files agree with each other. scripts/image builds and runs the image."""
import os
import re
import shutil
import subprocess

from cases import case
from hosts import Failure, Skip


def documents(context, *path):
    """The documents of a file of YAML, as PyYAML reads them."""
    try:
        import yaml
    except ImportError:
        raise Skip("python3-yaml is not installed") from None
    with open(os.path.join(context.source, *path), encoding="utf-8") as f:
        return list(yaml.safe_load_all(f))


def needs(condition, what):
    if not condition:
        raise Failure(what)


@case("containers.recipes")
def _(context):
    """Compose and Kubernetes start programs that the image has, on the library where the image has it."""
    with open(os.path.join(context.source, "packaging", "container", "Dockerfile"), encoding="utf-8") as f:
        dockerfile = f.read()
    packages = re.findall(r"[a-z][a-z0-9-]+", dockerfile.rsplit("install", 1)[1].split("&&")[0])
    needs({"perftest", "ibverbs-utils", "libibverbs1"} <= set(packages), f"the image has {packages}")
    needs("COPY --from=build /opt/verbena /opt/verbena" in dockerfile, dockerfile)
    nodes = documents(context, "packaging", "container", "compose.yaml")[0]["services"]
    needs(set(nodes) == {"server", "client"} and nodes["client"]["depends_on"] == ["server"], nodes)
    needs(nodes["server"]["command"][0] == "ib_write_bw" and " server &&" in nodes["client"]["command"][2], nodes)
    needs(os.path.exists(os.path.join(context.source, "packaging", "container",
                                      nodes["server"]["build"]["context"], nodes["server"]["build"]["dockerfile"])),
          nodes["server"]["build"])
    daemon = documents(context, "packaging", "kubernetes", "verbena.yaml")[0]
    template = daemon["spec"]["template"]
    needs(daemon["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"], daemon)
    subprocess.run(["sh", "-n", "-c", template["spec"]["initContainers"][0]["command"][2]], check=True)
    service, server, client = documents(context, "packaging", "kubernetes", "write-bw.yaml")
    needs(service["spec"]["selector"] == server["metadata"]["labels"], server)
    for pod in (server["spec"], client["spec"]["template"]["spec"]):
        container = pod["containers"][0]
        values = {e["name"]: e["value"] for e in container["env"]}
        needs(values["LD_PRELOAD"] == "/opt/verbena/lib/libverbena.so.0", values)
        needs(values["LD_LIBRARY_PATH"] == "/opt/verbena/lib/libverbena.d", values)
        needs({m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}, pod)
    needs(client["spec"]["template"]["spec"]["containers"][0]["command"][-1] == service["metadata"]["name"], client)
    needs(documents(context, "packaging", "kubernetes", "kind.yaml")[0]["kind"] == "Cluster", "kind.yaml")


@case("containers.install_node")
def _(context):
    """The container of the DaemonSet puts a folder on a node whole, and again over an older one."""
    template = documents(context, "packaging", "kubernetes", "verbena.yaml")[0]["spec"]["template"]
    folder = os.path.join(context.machine.folder, "node")
    script = template["spec"]["initContainers"][0]["command"][2]
    script = script.replace("/opt/verbena", f"{folder}/image").replace("/host", f"{folder}/host")
    os.makedirs(f"{folder}/image/lib")
    os.makedirs(f"{folder}/host")
    for version in ("1", "2", "3"):
        with open(f"{folder}/image/lib/version", "w", encoding="utf-8") as f:
            f.write(version)
        subprocess.run(["sh", "-ec", script], check=True)
        with open(f"{folder}/host/verbena/lib/version", encoding="utf-8") as f:
            needs(f.read() == version, version)
    shutil.rmtree(folder)


@case("containers.github", seconds=240)
def _(context):
    """The action's steps, with a folder as the root of the file system and without the packages, which are here."""
    action = documents(context, "packaging", "github", "action.yml")[0]
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    needs(action["runs"]["using"] == "composite" and list(steps) == ["Packages", "Build", "Install"], action)
    wanted = re.search(r"install -y --no-install-recommends (.*?)\n\Z", steps["Packages"]["run"], re.S)[1].replace("\\\n", "")
    with open(os.path.join(context.source, "scripts", "lib", "packages.sh"), encoding="utf-8") as f:
        user = re.search(r"^packages_user=\((.*)\)$", f.read(), re.M)[1].split()
    needs(set(user) <= set(wanted.split()), f"the action installs {wanted}")
    needs("--preset user" in steps["Build"]["run"] and "$SOURCE/build/user" in steps["Build"]["run"], steps["Build"])
    root = os.path.join(context.machine.folder, "root")
    script = steps["Install"]["run"].replace("$root ldconfig\n", "").replace(
        'cmake --install "$SOURCE/build/user"', f'flock "{context.build}/install.lock" '
        f'cmake --install "{context.build}" --prefix {root} >/dev/null')
    environment = os.path.join(context.machine.folder, "environment")
    open(environment, "w").close()
    out = context.machine.a.run(["env", f"PATH={root}/bin:{os.environ['PATH']}", "SOURCE=.", "PRELOAD=true",
                                 f"GITHUB_ENV={environment}", "bash", "-eo", "pipefail", "-c", script], seconds=100)
    needs("verbena0" in out, out)
    with open(environment, encoding="utf-8") as f:
        variables = f.read().split()
    out = context.machine.a.run(["env", *variables, "ibv_devices"])
    needs("verbena0" in out, f"{variables}: {out}")
    shutil.rmtree(root)

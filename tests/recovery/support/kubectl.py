#!/usr/bin/env python3
"""Speaks the part of kubectl's command line that is used, and runs what it is told in containers of docker.

What there is stands in cluster.json beside this file. A pod is a container of the same name, a claim is a volume. Its `exec` never tells
the other side that its input has ended, as a stream in a cluster may not.
"""

import json
import os
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
STATE = os.path.join(HERE, "cluster.json")


def load():
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def missing(kind, name):
    fail(f'Error from server (NotFound): {kind} "{name}" not found')


def docker(*words, **more):
    return subprocess.run(["docker", *words], capture_output=True, text=True, **more)


def pod_object(name, pod):
    volumes = []
    if pod.get("claim"):
        volumes.append({"name": "v", "persistentVolumeClaim": {"claimName": pod["claim"]}})
    found = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": pod.get("node", "node-1"), "volumes": volumes},
        "status": {"phase": pod.get("phase", "Running")},
    }
    if "waiting" in pod:
        found["status"] = {"phase": "Pending", "containerStatuses": [{"state": {"waiting": pod["waiting"]}}]}
    if "condition" in pod:
        found["status"] = {"phase": "Pending", "conditions": [pod["condition"]]}
    return found


def create(state):
    made = json.load(sys.stdin)
    if "create pods" in state.get("denied", []):
        fail('Error from server (Forbidden): pods is forbidden: User "ann" cannot create resource "pods"')
    if made["kind"] != "Pod" or made["apiVersion"] != "v1":
        fail("error: this is no pod")
    name, spec = made["metadata"]["name"], made["spec"]
    [container] = spec["containers"]
    [mounted] = container["volumeMounts"]
    [volume] = [one for one in spec["volumes"] if one["name"] == mounted["name"]]
    claim = volume["persistentVolumeClaim"]["claimName"]
    with open(os.path.join(HERE, "created.json"), "w") as file:
        json.dump(made, file)
    pod = {"node": spec.get("nodeName", "node-1"), "claim": claim, "helper": True}
    pod.update(state.get("new_pods", {}))
    if "waiting" not in pod and "condition" not in pod:
        run = ["run", "-d", "--init=false", "--network", "none", "--name", name]
        run += ["-v", f"{state['claims'][claim]['volume']}:{mounted['mountPath']}"]
        run += ["-u", str(container["securityContext"]["runAsUser"])]
        command, *words = container["command"]
        run += ["--entrypoint", command, container["image"], *words]
        done = docker(*run)
        if done.returncode:
            fail(f"Error from server: {done.stderr}")
    state["pods"][name] = pod
    save(state)
    print(f"pod/{name} created")


def delete(state, name):
    if state["pods"].pop(name, None) is None:
        return
    save(state)
    docker("rm", "-f", name)
    print(f'pod "{name}" deleted')


def get(state, kind, name):
    if kind in ("pod", "pods"):
        if name is None:
            items = [pod_object(name, pod) for name, pod in state["pods"].items()]
            return {"kind": "List", "items": items}
        if name not in state["pods"]:
            missing("pods", name)
        return pod_object(name, state["pods"][name])
    claim = state["claims"].get(name)
    if claim is None:
        missing("persistentvolumeclaims", name)
    return {
        "kind": "PersistentVolumeClaim",
        "spec": {"accessModes": claim["modes"], "volumeMode": claim.get("mode", "Filesystem")},
        "status": {"phase": "Bound"},
    }


def pump(source, target):
    while True:
        data = os.read(source, 1 << 16)
        if not data:
            # The other side never hears of it.
            return
        try:
            target.write(data)
            target.flush()
        except OSError:
            return


def execute(state, words):
    split = words.index("--")
    options, command = words[:split], words[split + 1 :]
    assert options[0] == "-i", options
    name = options[1]
    if name not in state["pods"]:
        missing("pods", name)
    if "-c" not in options:
        print('Defaulted container "main" out of: main, beside', file=sys.stderr)
    elif options[options.index("-c") + 1] not in ("main", "jackin-recovery"):
        fail(f"Error from server (BadRequest): container {options[-1]} is not valid for pod {name}")
    if "create pods/exec" in state.get("denied", []):
        fail('Error from server (Forbidden): User "ann" cannot create resource "pods/exec"')
    child = subprocess.Popen(["docker", "exec", "-i", "-u", "0:0", name, *command], stdin=subprocess.PIPE)
    threading.Thread(target=pump, args=(0, child.stdin), daemon=True).start()
    code = child.wait()
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    os._exit(code)


def main():
    state, words = load(), sys.argv[1:]
    context, namespace = state.get("current"), "default"
    while words and words[0].startswith("--"):
        key, _, value = words.pop(0).partition("=")
        if key == "--context":
            context = value
        elif key == "--namespace":
            namespace = value
        else:
            fail(f"error: unknown flag: {key}")
    verb, words = words[0], words[1:]
    if verb == "config":
        if words[0] == "current-context":
            if not state.get("current"):
                fail("error: current-context is not set")
            print(state["current"])
        else:
            assert words == ["get-contexts", "-o", "name"], words
            print("\n".join(state["contexts"]))
        return
    if context not in state["contexts"]:
        fail(f'error: context "{context}" does not exist')
    if namespace != "default":
        fail(f'Error from server (NotFound): namespaces "{namespace}" not found')
    if verb == "exec":
        execute(state, words)
    elif verb == "get":
        assert words[-2:] == ["-o", "json"], words
        print(json.dumps(get(state, words[0], words[1] if len(words) == 4 else None)))
    elif verb == "create":
        assert words == ["-f", "-"], words
        create(state)
    elif verb == "delete":
        assert words[0] == "pod" and words[2:] == ["--ignore-not-found", "--wait=false"], words
        delete(state, words[1])
    elif verb == "auth":
        _, asked, what, part = words
        part = part.partition("=")[2]
        what = f"{asked} {what}" + (f"/{part}" if part else "")
        if what in state.get("denied", []):
            print("no")
            sys.exit(1)
        print("yes")
    else:
        fail(f'error: unknown command "{verb}"')


main()

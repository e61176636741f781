#!/usr/bin/env python3
"""Speaks the part of kubectl's command line that is used, and runs what it is told in containers of docker.

What there is stands in cluster.json beside this file. A pod is a container of the same name, a claim is a volume. Its `exec` never tells
the other side that its input has ended, as a stream in a cluster may not.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
import time

SNAPSHOTS = "volumesnapshots.snapshot.storage.k8s.io"
CLASSES = "volumesnapshotclasses.snapshot.storage.k8s.io"
HERE = os.path.dirname(os.path.abspath(__file__))
LOCKS = []
STATE = os.path.join(HERE, "cluster.json")


def load():
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


def alone():
    """Nobody else changes what there is until this program ends."""
    if not LOCKS:
        LOCKS.append(os.open(os.path.join(HERE, "lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC))
        fcntl.flock(LOCKS[0], fcntl.LOCK_EX)


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


def device_of(claim):
    """The directory that a claim shows."""
    done = docker("volume", "inspect", claim["volume"], "--format", "{{.Options.device}}")
    return done.stdout.strip()


def create_snapshot(state, made):
    if made["apiVersion"] != "snapshot.storage.k8s.io/v1" or not state.get("snapshots_known"):
        fail('error: no matches for kind "VolumeSnapshot"')
    name, spec = made["metadata"]["name"], made["spec"]
    claim = spec["source"]["persistentVolumeClaimName"]
    if name in state.setdefault("snapshots", {}):
        fail(f'Error from server (AlreadyExists): volumesnapshots "{name}" already exists')
    if claim not in state["claims"]:
        missing("persistentvolumeclaims", claim)
    with open(os.path.join(HERE, "snapshot.json"), "w") as file:
        json.dump(made, file)
    place = os.path.join(HERE, name)
    subprocess.run(["cp", "-a", device_of(state["claims"][claim]), place], check=True)
    kept = {"place": place, "made": made, "polls": 0, "claim": claim}
    state["snapshots"][name] = kept
    save(state)
    print(f"volumesnapshot/{name} created")


def create_empty(state, made):
    """A claim of the operator's; its files lie in the directory `made` beside this file."""
    name, spec = made["metadata"]["name"], made["spec"]
    assert "labels" not in made["metadata"], made
    with open(os.path.join(HERE, "claim.json"), "w") as file:
        json.dump(made, file)
    place = os.path.join(HERE, "made", name)
    os.makedirs(place)
    volume = f"{name}-{os.getpid()}"
    docker("volume", "create", "--driver", "local", "--opt", "type=none", "--opt", "o=bind", "--opt", f"device={place}", volume, check=True)
    state["claims"][name] = {"volume": volume, "modes": spec["accessModes"], "made": place}
    save(state)
    print(f"persistentvolumeclaim/{name} created")


def create_claim(state, made):
    name, spec = made["metadata"]["name"], made["spec"]
    source = spec.get("dataSource")
    if source is None:
        return create_empty(state, made)
    assert source["apiGroup"] == "snapshot.storage.k8s.io" and source["kind"] == "VolumeSnapshot", source
    with open(os.path.join(HERE, "claim.json"), "w") as file:
        json.dump(made, file)
    snapshot = state.get("snapshots", {}).get(source["name"])
    if snapshot is None:
        missing("volumesnapshots", source["name"])
    volume = f"{name}-shown"
    options = ["--driver", "local", "--opt", "type=none", "--opt", "o=bind", "--opt", f"device={snapshot['place']}"]
    done = docker("volume", "create", *options, volume)
    if done.returncode:
        fail(f"Error from server: {done.stderr}")
    state["claims"][name] = {"volume": volume, "modes": spec["accessModes"], "helper": True}
    save(state)
    print(f"persistentvolumeclaim/{name} created")


def snapshot_object(state, name, looked):
    snapshot = state["snapshots"][name]
    if looked:
        snapshot["polls"] += 1
        save(state)
    found = dict(snapshot["made"])
    status = {"readyToUse": snapshot["polls"] > state.get("ready_after", 0)}
    if snapshot["polls"] > state.get("taken_after", 0):
        status["creationTime"] = "2026-11-23T12:00:00Z"
        status["restoreSize"] = "1Gi"
    if "late_error" in state:
        status["error"] = {"message": state["late_error"]}
    if "snapshot_error" in state:
        status = {"readyToUse": False, "error": {"message": state["snapshot_error"]}}
    found["status"] = status
    found["metadata"] = {**found["metadata"], "uid": f"uid-of-{name}"}
    return found


def try_out(state):
    """Says whether it would be made, and makes nothing."""
    made = json.load(sys.stdin)
    refused = state.get("refused", {}).get(made["kind"])
    if refused:
        fail(refused)
    print(made["metadata"]["name"])


def create(state):
    made = json.load(sys.stdin)
    alone()
    state = load()
    for kind, resource in (("VolumeSnapshot", SNAPSHOTS), ("PersistentVolumeClaim", "persistentvolumeclaims")):
        if made["kind"] == kind and f"create {resource}" in state.get("denied", []):
            fail(f"Error from server (Forbidden): {resource} is forbidden")
    if made["kind"] == "VolumeSnapshot":
        return create_snapshot(state, made)
    if made["kind"] == "PersistentVolumeClaim":
        return create_claim(state, made)
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
        only = ":ro" if mounted.get("readOnly") else ""
        run += ["-v", f"{state['claims'][claim]['volume']}:{mounted['mountPath']}{only}"]
        run += ["-u", str(container["securityContext"]["runAsUser"])]
        command, *words = container["command"]
        run += ["--entrypoint", command, container["image"], *words]
        done = docker(*run)
        if done.returncode:
            fail(f"Error from server: {done.stderr}")
    state["pods"][name] = pod
    save(state)
    print(f"pod/{name} created")


def delete(kind, name):
    alone()
    state = load()
    if kind == "pod":
        if state["pods"].pop(name, None) is not None:
            save(state)
            docker("rm", "-f", name)
    elif kind == "persistentvolumeclaim":
        claim = state["claims"].pop(name, None)
        if claim is not None:
            assert claim.get("helper"), f"{name} is the operator's"
            save(state)
            docker("volume", "rm", claim["volume"])
    else:
        assert kind == SNAPSHOTS, kind
        snapshot = state.get("snapshots", {}).pop(name, None)
        if snapshot is not None:
            save(state)
            shutil.rmtree(snapshot["place"], ignore_errors=True)
    print(f'{kind} "{name}" deleted')


def ours(state, kind):
    """What is labelled as ours, as a list."""
    made = {"pods": state["pods"], "persistentvolumeclaims": state["claims"], SNAPSHOTS: state.get("snapshots", {})}
    old = {name: {"helper": True} for name in state.get("old", {}).get(kind, [])}
    named = [name for name, one in {**made[kind], **old}.items() if kind == SNAPSHOTS or one.get("helper")]
    stamp = lambda name: "2026-01-01T00:00:00Z" if name in old else "2100-01-01T00:00:00Z"
    items = [{"metadata": {"name": name, "creationTimestamp": stamp(name)}} for name in named]
    return {"kind": "List", "items": items}


def get(state, kind, name):
    if name == "--selector=app.kubernetes.io/managed-by=jackin-recovery":
        return ours(state, kind)
    if kind in ("pod", "pods"):
        if name is None:
            items = [pod_object(name, pod) for name, pod in state["pods"].items()]
            return {"kind": "List", "items": items}
        if name not in state["pods"]:
            missing("pods", name)
        return pod_object(name, state["pods"][name])
    if kind == SNAPSHOTS:
        alone()
        state = load()
        if name not in state.get("snapshots", {}):
            missing("volumesnapshots.snapshot.storage.k8s.io", name)
        return snapshot_object(state, name, True)
    if kind == "events":
        of = name.removeprefix("--field-selector=involvedObject.name=").removesuffix(",type=Warning")
        assert of.startswith("jackin-recovery-"), name
        return {"kind": "List", "items": state.get("events", [])}
    if kind == CLASSES:
        if f"get {CLASSES}" in state.get("denied", []):
            fail(f"Error from server (Forbidden): {CLASSES} is forbidden")
        return {"kind": "List", "items": state.get("classes", [])}
    if kind == "storageclass":
        if "get storageclasses" in state.get("denied", []):
            fail("Error from server (Forbidden): storageclasses is forbidden")
        reclaim = state.get("reclaim", "Delete")
        return {"metadata": {"name": name}, "provisioner": state.get("provisioner", "disks.example"), "reclaimPolicy": reclaim}
    claim = state["claims"].get(name)
    if claim is None:
        missing("persistentvolumeclaims", name)
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "uid": claim.get("uid", f"uid-of-{name}"),
            "annotations": {"volume.kubernetes.io/storage-provisioner": "disks.example"},
        },
        "spec": {
            "accessModes": claim["modes"],
            "volumeMode": claim.get("mode", "Filesystem"),
            "storageClassName": claim.get("class", "quick"),
            "resources": {"requests": {"storage": "3Gi"}},
        },
        "status": {"phase": "Bound", "capacity": {"storage": "4Gi"}},
    }


def pump(source, target, pause):
    while True:
        data = os.read(source, 1 << 16)
        time.sleep(pause)
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
    threading.Thread(target=pump, args=(0, child.stdin, state.get("pause", 0)), daemon=True).start()
    code = child.wait()
    if code:
        print(f"command terminated with exit code {code}", file=sys.stderr)
    os._exit(code)


def main():
    state, words = load(), sys.argv[1:]
    context, namespace = None, "default"
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
    if context is None and state["contexts"]:
        # Where it would lead depends on what is current: nothing of ours may do that.
        with open(os.path.join(HERE, "astray"), "a") as file:
            print(*sys.argv[1:], file=file)
        context = state.get("current")
    if context is not None and context not in state["contexts"]:
        fail(f'error: context "{context}" does not exist')
    if namespace != "default":
        fail(f'Error from server (NotFound): namespaces "{namespace}" not found')
    if verb == "exec":
        execute(state, words)
    elif verb == "get" and words[0] == "--raw":
        assert words[1] == "/apis/snapshot.storage.k8s.io/v1", words
        if not state.get("snapshots_known"):
            fail("Error from server (NotFound): the server could not find the requested resource")
        print(json.dumps({"kind": "APIResourceList", "resources": [{"name": "volumesnapshots"}]}))
    elif verb == "get" and words[-3:] == ["--ignore-not-found", "-o", "json"]:
        assert words[0] == "persistentvolumeclaim", words
        if words[1] in state["claims"]:
            print(json.dumps(get(state, words[0], words[1])))
    elif verb == "get" and words[-3:] == ["--ignore-not-found", "-o", "name"]:
        assert words[0] == SNAPSHOTS, words
        if "unreachable" in state:
            fail(state["unreachable"])
        if words[1] in state.get("snapshots", {}):
            print(f"volumesnapshot.snapshot.storage.k8s.io/{words[1]}")
    elif verb == "get":
        assert words[-2:] == ["-o", "json"], words
        print(json.dumps(get(state, words[0], words[1] if len(words) == 4 else None)))
    elif verb == "create" and words[0] == "--dry-run=server":
        assert words[1:] == ["-o", "name", "-f", "-"], words
        try_out(state)
    elif verb == "create":
        assert words == ["-f", "-"], words
        create(state)
    elif verb == "delete":
        assert words[-2:] == ["--ignore-not-found", "--wait=false"], words
        delete(*words[:-2])
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

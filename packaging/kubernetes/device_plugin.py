#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Offer emulated HCAs to the pods of a Kubernetes node, as the resource rdmaemu.io/hca.

A container that asks for one gets /opt/rdmaemu with the command and its libraries, and the environment of a fabric of
its own: the name of its node, the address of the hub that it joins, and the token. `/opt/rdmaemu/bin/rdmaemu run
PROGRAM` starts this fabric, in the pod's network namespace: the device's GIDs are the pod's addresses.

The steps, repeated whenever kubelet restarts (it then removes the sockets of all plugins):

 1. serve DevicePlugin on a socket in kubelet's folder;
 2. register the socket and the resource with kubelet;
 3. wait until the socket has gone.

The module deviceplugin_pb2 is what protoc makes of deviceplugin.proto.
"""
import argparse
import hashlib
import os
import shutil
import sys
import threading
import time
from concurrent import futures

import grpc

import deviceplugin_pb2 as api

RESOURCE = "rdmaemu.io/hca"
ENDPOINT = "rdmaemu.sock"
CONTAINER_TREE = "/opt/rdmaemu"
CONTAINER_TOKEN = "/run/rdmaemu/token"
# Bytes of a node's name (NODE_NAME_MAX of emulator/node.h).
NAME_MAX = 40


def node_name(host, device):
    """The name of a container's node: unique in the cluster, and the same each time, so that the hub keeps one entry."""
    name = "%s-%s" % (host.split(".")[0], device)
    if len(name) > NAME_MAX or "." in host:
        digest = hashlib.sha256(host.encode()).hexdigest()[:8]
        name = "%s-%s-%s" % (host.split(".")[0][:NAME_MAX - len(device) - 10], digest, device)
    return name


def install(tree, token, host_dir):
    """Copy the tree and the token to the folder of the host that containers mount from; only root may enter it.

    Containers that run keep the files that they have mapped: each file is replaced, never written to.
    """
    os.makedirs(host_dir, exist_ok=True)
    os.chmod(host_dir, 0o700)
    for folder, _, files in os.walk(tree):
        target = os.path.join(host_dir, "tree", os.path.relpath(folder, tree))
        os.makedirs(target, exist_ok=True)
        for name in files:
            replace(os.path.join(folder, name), os.path.join(target, name))
    # The users of containers are any.
    replace(token, os.path.join(host_dir, "token"))
    os.chmod(os.path.join(host_dir, "token"), 0o444)


def replace(source, target):
    shutil.copy2(source, target + ".new", follow_symlinks=False)
    os.replace(target + ".new", target)


class Plugin:
    """The service DevicePlugin."""

    def __init__(self, args):
        self.args = args
        self.ids = ["hca%d" % n for n in range(args.devices)]
        self.stopped = threading.Event()

    def handlers(self):
        return grpc.method_handlers_generic_handler("v1beta1.DevicePlugin", {
            "GetDevicePluginOptions": unary(self.options, api.Empty),
            "ListAndWatch": grpc.unary_stream_rpc_method_handler(
                self.list_and_watch, api.Empty.FromString, lambda answer: answer.SerializeToString()),
            "Allocate": unary(self.allocate, api.AllocateRequest),
        })

    def options(self, _request, _context):
        return api.DevicePluginOptions()

    def health(self):
        """Whether a container that is started now would find what it mounts."""
        tree = os.path.join(self.args.host_dir, "tree/bin/rdmaemu")
        good = os.access(tree, os.X_OK) and os.path.exists(os.path.join(self.args.host_dir, "token"))
        return "Healthy" if good else "Unhealthy"

    def list_and_watch(self, _request, context):
        told = None
        while context.is_active() and not self.stopped.is_set():
            health = self.health()
            if health != told:
                told = health
                yield api.ListAndWatchResponse(devices=[api.Device(ID=i, health=health) for i in self.ids])
            self.stopped.wait(1)

    def allocate(self, request, context):
        answer = api.AllocateResponse()
        for container in request.container_requests:
            ids = list(container.devices_ids)
            if len(ids) != 1 or ids[0] not in self.ids:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT,
                              "expected one of hca0 to %s for a container, not: %s" % (self.ids[-1], " ".join(ids)))
            response = answer.container_responses.add()
            response.envs["RDMAEMU_NAME"] = node_name(self.args.node, ids[0])
            response.envs["RDMAEMU_JOIN"] = self.args.join
            response.envs["RDMAEMU_TOKEN_FILE"] = CONTAINER_TOKEN
            for path, name in (CONTAINER_TREE, "tree"), (CONTAINER_TOKEN, "token"):
                response.mounts.add(container_path=path, host_path=os.path.join(self.args.host_dir, name),
                                    read_only=True)
        return answer


def unary(method, request):
    return grpc.unary_unary_rpc_method_handler(method, request.FromString, lambda answer: answer.SerializeToString())


def register(kubelet_dir):
    with grpc.insecure_channel("unix:" + os.path.join(kubelet_dir, "kubelet.sock")) as channel:
        call = channel.unary_unary("/v1beta1.Registration/Register",
                                   request_serializer=api.RegisterRequest.SerializeToString,
                                   response_deserializer=api.Empty.FromString)
        call(api.RegisterRequest(version="v1beta1", endpoint=ENDPOINT, resource_name=RESOURCE), timeout=30)


def serve_once(args):
    """Serve until kubelet removes the socket; an error of gRPC if kubelet does not take the registration."""
    path = os.path.join(args.kubelet_dir, ENDPOINT)
    plugin = Plugin(args)
    # One thread each for the watch of kubelet's stream, one that it has given up, and calls.
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((plugin.handlers(),))
    if os.path.exists(path):
        os.unlink(path)
    if not server.add_insecure_port("unix:" + path):
        raise OSError("cannot listen at " + path)
    server.start()
    try:
        register(args.kubelet_dir)
        print("registered %d of %s at %s" % (args.devices, RESOURCE, path), flush=True)
        while os.path.exists(path):
            time.sleep(1)
    finally:
        plugin.stopped.set()
        server.stop(None).wait()


def arguments():
    parser = argparse.ArgumentParser(description="Offer emulated HCAs to pods, as the resource " + RESOURCE + ".")
    parser.add_argument("--node", required=True, help="name of the Kubernetes node")
    parser.add_argument("--join", required=True, metavar="HOST:PORT", help="where pods find the hub")
    parser.add_argument("--token-file", required=True, help="the secret of the joined fabrics")
    parser.add_argument("--devices", type=int, default=32, help="how many containers may have one (%(default)s)")
    parser.add_argument("--tree", default=CONTAINER_TREE, help="what tree.sh has made (%(default)s)")
    parser.add_argument("--host-dir", default="/var/lib/rdmaemu", help="folder of the host for it (%(default)s)")
    parser.add_argument("--kubelet-dir", default="/var/lib/kubelet/device-plugins", help="(%(default)s)")
    args = parser.parse_args()
    if not 1 <= args.devices <= 64:
        parser.error("--devices: expected 1 to 64, the fabrics that a hub takes, not %d" % args.devices)
    return args


def main():
    args = arguments()
    try:
        install(args.tree, args.token_file, args.host_dir)
    except OSError as error:
        sys.exit("device_plugin: cannot install %s in %s: %s" % (args.tree, args.host_dir, error))
    while True:
        try:
            serve_once(args)
            print("kubelet has removed the socket: registering again", flush=True)
        except (grpc.RpcError, OSError) as error:
            text = error.details() if isinstance(error, grpc.Call) else error
            print("device_plugin: cannot register with kubelet in %s, retrying: %s" % (args.kubelet_dir, text),
                  file=sys.stderr, flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What kubelet does with a device plugin: take its registration, watch its devices, allocate one for each container.

    kubelet.py DIR RESOURCE register            print the plugin's registration, as the bytes of the message in hex
    kubelet.py DIR RESOURCE devices             print ID and health of each device
    kubelet.py DIR RESOURCE allocate ID...      a container for each ID: print its environment and mounts as JSON

kubelet.sock is in DIR while the program runs, and nothing else is when it starts. deviceplugin_pb2 is in PYTHONPATH.
"""
import json
import os
import queue
import sys
from concurrent import futures

import grpc

import deviceplugin_pb2 as api

WAIT_SECONDS = 60 * float(os.environ.get("PATIENCE") or 1)


def registered(folder):
    """The bytes of the first registration that comes."""
    requests = queue.Queue()

    def register(request, _context):
        requests.put(request)
        return b""

    server = grpc.server(futures.ThreadPoolExecutor(2))
    handler = grpc.unary_unary_rpc_method_handler(register)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1beta1.Registration",
                                                                          {"Register": handler}),))
    # As kubelet does when it starts: plugins that are there shall come again.
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    server.add_insecure_port("unix:" + os.path.join(folder, "kubelet.sock"))
    server.start()
    try:
        return requests.get(timeout=WAIT_SECONDS)
    finally:
        server.stop(2).wait()


def call(channel, name, request, answer, stream=False):
    method = channel.unary_stream if stream else channel.unary_unary
    return method("/v1beta1.DevicePlugin/" + name, request_serializer=lambda r: r.SerializeToString(),
                  response_deserializer=answer.FromString)(request, timeout=WAIT_SECONDS)


def containers(channel, ids):
    request = api.AllocateRequest()
    for device in ids:
        request.container_requests.add(devices_ids=device.split(","))
    for container in call(channel, "Allocate", request, api.AllocateResponse).container_responses:
        yield {"envs": dict(container.envs),
               "mounts": [[m.host_path, m.container_path, m.read_only] for m in container.mounts]}


def main():
    folder, resource, what, *ids = sys.argv[1:]
    data = registered(folder)
    request = api.RegisterRequest.FromString(data)
    if request.resource_name != resource or request.version != "v1beta1":
        sys.exit("kubelet: refused %s of version %s" % (request.resource_name, request.version))
    if what == "register":
        print(data.hex())
        return
    with grpc.insecure_channel("unix:" + os.path.join(folder, request.endpoint)) as channel:
        if what == "devices":
            watch = call(channel, "ListAndWatch", api.Empty(), api.ListAndWatchResponse, stream=True)
            for device in next(watch).devices:
                print(device.ID, device.health)
            watch.cancel()
        else:
            print(json.dumps(list(containers(channel, ids))))


try:
    main()
except grpc.RpcError as error:
    sys.exit("kubelet: %s: %s" % (error.code().name, error.details()))

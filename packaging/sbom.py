#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print the bill of materials of binaries: the packages whose libraries they link, as SPDX 2.3.

    packaging/sbom.py VERSION FILE...

A library's package, its version and its architecture come from dpkg; where that does not know them, the library
stands for itself. The loader of this machine finds the libraries of its own programs; those of a binary that was built
for another machine are in the folders that Debian has for that machine. SOURCE_DATE_EPOCH= is the date of the document.
"""
import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import time


def output_of(*command):
    """What the command prints, or nothing if it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def needed(path):
    """Names of the libraries that a file links by itself."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "-d", path))


# By the field e_machine of elf(5).
FOLDERS = {62: "x86_64-linux-gnu", 183: "aarch64-linux-gnu"}


def machine_of(path):
    with open(path, "rb") as file:
        return struct.unpack_from("<H", file.read(20), 18)[0]


def paths_of_libraries(path):
    """Where the loader of the file's machine finds its libraries, by name."""
    if machine_of(path) == machine_of("/proc/self/exe"):
        return dict(re.findall(r"^\s*(\S+) => (/\S+)", output_of("ldd", path), re.M))
    folders = [top + FOLDERS.get(machine_of(path), "unknown") for top in ("/usr/lib/", "/lib/")]
    places = [(name, os.path.join(folder, name)) for name in needed(path) for folder in folders]
    return dict(place for place in places if os.path.exists(place[1]))


def package_of(name, path):
    """The package that has a library: (name, version, architecture)."""
    # dpkg-query takes a name without a path for a pattern, which fits libraries of any machine.
    for candidate in (path, os.path.realpath(path), re.sub(r"^/usr", "", path), "/usr" + path) if path else ():
        owner = output_of("dpkg-query", "-S", candidate).split(": ")[0]
        if owner and not owner.startswith("diversion"):
            fields = output_of("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", owner).split(" ")
            if len(fields) == 3:
                return tuple(fields)
    return name, "", ""


def spdx_id(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def spdx_package(name, version, architecture):
    package = {
        "SPDXID": spdx_id(name),
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }
    if version:
        package["versionInfo"] = version
        package["externalRefs"] = [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": "pkg:deb/debian/%s@%s?arch=%s" % (name, version.replace("+", "%2B").replace(":", "%3A"),
                                                                  architecture),
        }]
    return package


def document(version, files):
    users = {}
    for file in files:
        where = paths_of_libraries(file)
        for name in needed(file):
            # A library of rdmaemu's own, or the loader.
            if name.startswith(("librdmaemu", "ld-linux")):
                continue
            users.setdefault(package_of(name, where.get(name)), set()).add(os.path.basename(file))
    own = spdx_package("rdmaemu", "", "")
    own.update(versionInfo=version, licenseConcluded="MIT", licenseDeclared="MIT",
               copyrightText="Copyright (c) 2026 the rdmaemu authors")
    packages = [own] + [spdx_package(*package) for package in sorted(users)]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                  "relatedSpdxElement": own["SPDXID"]}]
    relations += [{"spdxElementId": own["SPDXID"], "relationshipType": "DYNAMIC_LINK",
                   "relatedSpdxElement": spdx_id(package[0]), "comment": "by " + ", ".join(sorted(users[package]))}
                  for package in sorted(users)]
    digest = hashlib.sha256(json.dumps([packages, relations], sort_keys=True).encode()).hexdigest()
    date = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": "rdmaemu-" + version,
        "documentNamespace": "https://spdx.org/spdxdocs/rdmaemu-%s-%s" % (version, digest[:32]),
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", date), "creators": ["Tool: packaging/sbom.py"]},
        "packages": packages,
        "relationships": relations,
    }


if len(sys.argv) < 3:
    sys.exit(__doc__)
print(json.dumps(document(sys.argv[1], sys.argv[2:]), indent=1))

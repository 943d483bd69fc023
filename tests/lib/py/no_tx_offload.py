# SPDX-License-Identifier: MIT
"""Have the kernel finish packets before an interface's captures see them.

no_tx_offload.py INTERFACE: without the offload of transmit checksums. Cutting ends with `ip link set INTERFACE
gso_max_segs 1`. ethtool(8) may not be installed.
"""

import array
import fcntl
import socket
import struct
import sys

SIOCETHTOOL = 0x8946
ETHTOOL_STXCSUM = 0x17


def main():
    """Turn it off."""
    value = array.array("B", struct.pack("II", ETHTOOL_STXCSUM, 0))
    request = struct.pack("16sP", sys.argv[1].encode(), value.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCETHTOOL, request)


main()

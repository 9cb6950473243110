"""Ways out by a socket. Addresses outside are those reserved for documentation: nobody answers there."""

import errno
import os
import socket
import struct

from tools import say, succeeding

PATIENCE_S = 0.3
V4 = ("192.0.2.1", "198.51.100.1", "203.0.113.1", "240.0.0.1", "224.0.0.1")
V6 = ("2001:db8::1", "fe80::1", "ff02::1", "64:ff9b::c000:201")
PORTS = (53, 80, 443, 8080)
METADATA = (("169.254.169.254", 80), ("169.254.170.2", 80), ("100.100.100.200", 80))
WAYS_ON = {errno.EINPROGRESS, errno.ETIMEDOUT}
HOST = 2  # the number of the host in AF_VSOCK


def leaves(family, kind, address, protocol=0):
    """Pass if a packet to the address leaves: it was sent, or is on its way."""
    with socket.socket(family, kind, protocol) as connection:
        connection.setblocking(False)
        if kind == socket.SOCK_STREAM:
            status = connection.connect_ex(address)
            if status and status not in WAYS_ON:
                raise OSError(status, os.strerror(status))
        else:
            connection.sendto(b"tipstaff", address)


def connects(family, address):
    """Pass if somebody takes the connection."""
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(address)
        connection.send(b"tipstaff")


def tcp_loopback(at):
    """TCP to the host's own loopback, by each of its names."""
    names = ("127.0.0.1", "127.0.0.2", "0.0.0.0")
    return succeeding(
        {name: lambda n=name: connects(socket.AF_INET, (n, at["trap"])) for name in names}
    )


def tcp6_loopback(at):
    """TCP to ::1, and to the mapped address of 127.0.0.1."""
    names = ("::1", "::ffff:127.0.0.1", "::")
    return succeeding(
        {name: lambda n=name: connects(socket.AF_INET6, (n, at["trap"])) for name in names}
    )


def udp_loopback(at):
    """UDP to a socket of the host; sending to an own loopback where nobody listens is no way out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.sendto(b"tipstaff", ("127.0.0.1", at["trap"]))


def outside_tcp(at):
    """TCP to 20 addresses beyond the host."""
    tries = [(address, port) for address in V4 for port in PORTS]
    return succeeding(
        {
            f"{a}:{p}": lambda a=a, p=p: leaves(socket.AF_INET, socket.SOCK_STREAM, (a, p))
            for a, p in tries
        }
    )


def outside_udp(at):
    """UDP to 20 addresses beyond the host."""
    tries = [(address, port) for address in V4 for port in PORTS]
    return succeeding(
        {
            f"{a}:{p}": lambda a=a, p=p: leaves(socket.AF_INET, socket.SOCK_DGRAM, (a, p))
            for a, p in tries
        }
    )


def outside_ipv6(at):
    """TCP and UDP to addresses of IPv6."""
    kinds = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
    return succeeding(
        {
            f"{name} {a}": lambda a=a, k=kind: leaves(socket.AF_INET6, k, (a, 443))
            for a in V6
            for name, kind in kinds.items()
        }
    )


def metadata(at):
    """The addresses where clouds hand out credentials."""
    return succeeding(
        {
            a: lambda a=a, p=p: leaves(socket.AF_INET, socket.SOCK_STREAM, (a, p))
            for a, p in METADATA
        }
    )


def dns(at):
    """A question to each resolver that the host names, and to well-known places of one."""
    servers = {"127.0.0.53", "192.0.2.53"}
    try:
        with open("/etc/resolv.conf", encoding="utf-8") as file:
            servers |= {line.split()[1] for line in file if line.startswith("nameserver")}
    except (OSError, IndexError):
        pass
    loopback = {server for server in servers if server.startswith("127.")}

    def ask(server):
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        query = struct.pack(">6H", 7, 256, 1, 0, 0, 0) + b"\x08tipstaff\x07invalid\0\0\1\0\1"
        with socket.socket(family, socket.SOCK_DGRAM) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect((server, 53))
            connection.send(query)
            if server in loopback:
                connection.recv(512)

    return succeeding({server: lambda s=server: ask(s) for server in sorted(servers)})


def icmp(at):
    """An echo request beyond the host, by a ping socket."""
    request = struct.pack(">BBHHH", 8, 0, 0xF7FF, 0, 0)

    def ping(kind, address):
        with socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP) as connection:
            connection.sendto(request, (address, 0))

    kinds = {"ping": socket.SOCK_DGRAM, "raw": socket.SOCK_RAW}
    return succeeding(
        {f"{name} {a}": lambda a=a, k=k: ping(k, a) for a in V4 for name, k in kinds.items()}
    )


def raw_socket(at):
    """Raw sockets, which forge what they send and read what others get."""
    tries = {
        "icmp": (socket.AF_INET, 1),
        "udp": (socket.AF_INET, 17),
        "raw": (socket.AF_INET, 255),
        "icmp6": (socket.AF_INET6, 58),
    }
    return succeeding(
        {
            name: lambda f=f, p=p: socket.socket(f, socket.SOCK_RAW, p).close()
            for name, (f, p) in tries.items()
        }
    )


def packet_socket(at):
    """Frames of the link layer."""
    kinds = {"raw": socket.SOCK_RAW, "dgram": socket.SOCK_DGRAM}
    return succeeding(
        {name: lambda k=k: socket.socket(17, k, 0).close() for name, k in kinds.items()}
    )


def netlink(at):
    """The kernel's own bus: routes, audit, crypto, netfilter, device events, generic."""
    buses = {"route": 0, "audit": 9, "netfilter": 12, "uevent": 15, "generic": 16, "crypto": 21}
    return succeeding(
        {
            name: lambda n=number: socket.socket(16, socket.SOCK_RAW, n).close()
            for name, number in buses.items()
        }
    )


def vsock(at):
    """The line between a virtual machine and its host."""

    def connect():
        with socket.socket(40, socket.SOCK_STREAM) as connection:
            connection.settimeout(PATIENCE_S)
            connection.connect((HOST, at["trap"]))

    socket_alone = {"socket": lambda: socket.socket(40, socket.SOCK_STREAM).close()}
    return succeeding({**socket_alone, "connected": connect})


def odd_families(at):
    """Families that reach parts of the kernel which no namespace divides."""
    families = {
        "alg": (38, socket.SOCK_SEQPACKET),
        "bluetooth": (31, socket.SOCK_RAW),
        "can": (29, socket.SOCK_RAW),
        "key": (15, socket.SOCK_RAW),
        "rds": (21, socket.SOCK_SEQPACKET),
        "tipc": (30, socket.SOCK_STREAM),
        "xdp": (44, socket.SOCK_RAW),
        "qipcrtr": (42, socket.SOCK_DGRAM),
    }
    return succeeding(
        {name: lambda f=f, k=k: socket.socket(f, k, 0).close() for name, (f, k) in families.items()}
    )


def abstract_socket(at):
    """A unix socket of the host that has no file."""
    return succeeding({"connected": lambda: connects(socket.AF_UNIX, "\0" + at["trap"])})


def agent_socket(at):
    """A unix socket such as that of ssh-agent, by its path and by ways round it."""
    ways = (at["trap"], "/proc/1/root" + at["trap"], "/proc/self/root" + at["trap"])
    return succeeding({way: lambda w=way: connects(socket.AF_UNIX, w) for way in ways})


def daemon_sockets(at):
    """Sockets whose owner runs things as root."""
    names = (
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/containerd/containerd.sock",
        "/run/podman/podman.sock",
        "/run/dbus/system_bus_socket",
        "/run/systemd/private",
        "/run/systemd/journal/socket",
        "/var/run/nscd/socket",
        "/run/snapd.socket",
    )
    found = [name for name in names if os.path.exists(name)]
    say(at, found)
    return found


def listens_for_the_host(at):
    """A listener of ours that the host could be made to call: abstract names and ports are shared unless divided."""
    with socket.socket(socket.AF_INET) as port, socket.socket(socket.AF_UNIX) as name:
        taken = []
        try:
            port.bind(("0.0.0.0", at["trap"]["port"]))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                taken.append("the port is the host's")
        try:
            name.bind("\0" + at["trap"]["name"])
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                taken.append("the abstract name is the host's")
        return taken

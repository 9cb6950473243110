"""A key and a certificate for one sidecar, which is its own authority: who pins it believes this key and no other."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path

from tipstaff.files import write_atomically
from tipstaff.project import utc_now

_VALID = timedelta(days=3650)
_CLOCK_SKEW = timedelta(days=1)


def write_pinned(folder: Path, address: str) -> None:
    """Write ``server.pem`` and ``server.key`` for an IP address, readable by the user that the sidecar runs as."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tipstaff sidecar")])
    now = utc_now()
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _VALID)
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    write_atomically(folder / "server.pem", pem, mode=0o644)
    write_atomically(folder / "server.key", secret, mode=0o644)

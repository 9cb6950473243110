"""Certificates for tests of TLS: a CA and a server certificate for loopback."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificates(folder: Path, *, host: str = "127.0.0.1") -> Path:
    """Write ``ca.pem``, ``server.pem`` and ``server.key``; returns the folder."""
    authority, key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    root = _name("tests")
    ca = _certificate(root, root, authority, authority, x509.BasicConstraints(True, None), None)
    server = _certificate(
        _name(host), root, key, authority, x509.BasicConstraints(False, None), host
    )
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    (folder / "server.pem").write_bytes(server.public_bytes(serialization.Encoding.PEM))
    (folder / "server.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(subject, issuer, key, signer, constraints, host):
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(constraints, critical=True)
    )
    if host is not None:
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(signer, hashes.SHA256())

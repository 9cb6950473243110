"""Certificates for tests of TLS: a CA, a server's certificate for loopback, a client's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

CLIENT = "tests-client"


def write_certificates(
    folder: Path, *, host: str = "127.0.0.1", valid: timedelta = timedelta(hours=1)
) -> Path:
    """Write ``ca.pem``, ``server`` and ``client`` (``.pem`` and ``.key``); returns the folder.

    A negative ``valid`` makes a server's certificate that has expired.
    """
    authority = ec.generate_private_key(ec.SECP256R1())
    root = _name("tests")
    ca = _certificate((root, root), authority, authority, None)
    (folder / "ca.pem").write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for name, subject, names in (("server", host, host), ("client", CLIENT, None)):
        key = ec.generate_private_key(ec.SECP256R1())
        made = _certificate(
            (_name(subject), root), key, authority, names, valid if names else timedelta(hours=1)
        )
        (folder / f"{name}.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
        (folder / f"{name}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return folder


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(names, key, signer, host, valid=timedelta(hours=1)):
    """``names`` are subject and issuer; equal ones make an authority."""
    subject, issuer = names
    end = datetime.now(UTC) + valid
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - timedelta(hours=2))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(subject == issuer, None), critical=True)
    )
    if host is not None:
        listed = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
        builder = builder.add_extension(listed, critical=False)
    return builder.sign(signer, hashes.SHA256())

"""Broker addresses: `pulsar://host:port`, `pulsar+ssl://host:port`, and service URLs with several hosts."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pulsar.errors import OptionError, ProtocolError

PLAIN, TLS = "pulsar://", "pulsar+ssl://"
_DEFAULT_PORTS = {PLAIN: 6650, TLS: 6651}
_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """The address of a broker or proxy. For a proxy, `proxy_to` is the broker to forward to, as `host:port`."""

    host: str
    port: int
    proxy_to: str | None = None

    def __str__(self) -> str:
        direct = f"{self.host}:{self.port}"
        return f"{direct} (proxy to {self.proxy_to})" if self.proxy_to else direct


def parse_service_url(url: str, option: str = "service.url") -> tuple[BrokerAddress, ...]:
    """Return the addresses of all hosts in a service URL.

    Args:
        url: The service URL, which consists of one scheme and of hosts that are separated by commas.
        option: The name of the option that contains the URL, for the error message.

    Raises:
        OptionError: The URL is malformed.

    """
    for scheme, port in _DEFAULT_PORTS.items():
        if url.startswith(scheme):
            parts = url.removeprefix(scheme).split(",")
            hosts = [_host_and_port(part, port) for part in parts]
            if None not in hosts:
                return tuple(host for host in hosts if host is not None)
    raise OptionError(f"option {option!r}: expected {PLAIN}host:port or {TLS}host:port, got {url!r}")


def parse_broker_url(url: str, where: str) -> BrokerAddress:
    """Return the address in a broker's lookup answer.

    Args:
        url: The URL in the answer.
        where: A description of the lookup, for the error message.

    Raises:
        ProtocolError: The URL is malformed.

    """
    try:
        return parse_service_url(url)[0]
    except OptionError:
        raise ProtocolError(
            f"{where}: expected an address {PLAIN}host:port, got {url!r}; check advertisedAddress in the broker's "
            f"broker.conf"
        ) from None


def _host_and_port(text: str, default_port: int) -> BrokerAddress | None:
    host, separator, port = text.strip().rpartition(":")
    if not separator or "]" in port:
        host, port = text.strip(), str(default_port)
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or not 0 < int(port) <= _MAX_PORT:
        return None
    return BrokerAddress(host, int(port))

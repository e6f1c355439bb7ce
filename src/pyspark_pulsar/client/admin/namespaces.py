"""Requests to the admin REST API about namespaces.

Source of the resources: `Namespaces` of Pulsar's admin API v2 (4.0.8).
"""

from __future__ import annotations

from typing import Any

from pyspark_pulsar.client.admin.answers import as_names, as_object, as_text_map, reason_of
from pyspark_pulsar.client.admin.paths import namespace_resource, resource
from pyspark_pulsar.client.admin.rest import RestClient
from pyspark_pulsar.errors import (
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDenied,
    ProtocolError,
    TopicNotFoundError,
)
from pyspark_pulsar.model.topic import Namespace, is_name

_NOT_FOUND, _CONFLICT = 404, 409


class Namespaces:
    """Requests about namespaces, for `AdminClient`."""

    def __init__(self, rest: RestClient) -> None:
        self._rest = rest

    def of_tenant(self, tenant: str) -> tuple[Namespace, ...]:
        """List the namespaces of a tenant. Only admins of the tenant can list the namespaces.

        The list omits namespaces of Pulsar 1, because the names of such namespaces contain a cluster.
        """
        where = f"listing the namespaces of tenant {tenant}"
        names = as_names(self._rest.get(resource("namespaces", tenant), where), where)
        if not all("/" in name for name in names):
            raise ProtocolError(
                f"{where}: expected a JSON array of names, got another answer; check admin.url"
            )
        parts = (name.removeprefix(f"{tenant}/") for name in names)
        return tuple(Namespace(tenant, part) for part in parts if is_name(part))

    def exists(self, namespace: Namespace) -> bool:
        """Return whether the namespace exists.

        If the role is not allowed to read the namespace's properties, the method lists the namespace's topics instead.
        """
        try:
            self.properties(namespace)
        except NamespaceNotFoundError:
            return False
        except PermissionDenied:
            try:
                get_in_namespace(
                    self._rest,
                    namespace_resource(namespace, "topics", mode="ALL"),
                    f"listing the topics of {namespace}",
                )
            except NamespaceNotFoundError:
                return False
        return True

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Return the properties that are set on the namespace.

        Raises:
            NamespaceNotFoundError: The namespace does not exist.

        """
        where = f"reading the properties of {namespace}"
        path = namespace_resource(namespace, "properties")
        return as_text_map(get_in_namespace(self._rest, path, where), where)

    def policies(self, namespace: Namespace) -> dict[str, Any]:
        """Return all policies of the namespace, as the broker's JSON object.

        Raises:
            NamespaceNotFoundError: The namespace does not exist.

        """
        where = f"reading the policies of {namespace}"
        return as_object(get_in_namespace(self._rest, namespace_resource(namespace), where), where)

    def create(self, namespace: Namespace) -> None:
        """Create a namespace.

        Raises:
            NamespaceExistsError: A namespace with this name exists.
            NamespaceNotFoundError: The tenant does not exist.

        """
        where = f"creating namespace {namespace}"
        expected = (_CONFLICT, _NOT_FOUND)
        status = self._rest.change("PUT", namespace_resource(namespace), where, expected=expected).status
        if status == _CONFLICT:
            raise NamespaceExistsError(
                f"{where}: expected a new name, got one that exists; choose another name, or add IF NOT EXISTS"
            )
        if status == _NOT_FOUND:
            raise NamespaceNotFoundError(
                f"{where}: expected an existing tenant, got {namespace.tenant}, which does not exist; let an "
                "administrator create the tenant"
            )

    def delete(self, namespace: Namespace) -> None:
        """Delete a namespace that contains no topics, except Pulsar's system topics.

        Raises:
            NamespaceNotFoundError: The namespace does not exist.
            NamespaceNotEmptyError: The namespace contains topics.

        """
        where = f"deleting namespace {namespace}"
        change = self._rest.change(
            "DELETE", namespace_resource(namespace), where, expected=(_CONFLICT, _NOT_FOUND)
        )
        if change.status == _NOT_FOUND:
            raise no_namespace(where)
        if change.status == _CONFLICT:
            raise NamespaceNotEmptyError(
                f"{where}: expected a namespace without topics, got a refusal: {reason_of(change.text)}; delete the "
                "topics, or add CASCADE"
            )

    def set_property(self, namespace: Namespace, key: str, value: str) -> None:
        """Set one property of the namespace.

        Raises:
            NamespaceNotFoundError: The namespace does not exist.

        """
        where = f"setting property {key} of {namespace}"
        self._change("PUT", namespace_resource(namespace, "properties"), where, {key: value})

    def remove_property(self, namespace: Namespace, key: str) -> None:
        """Remove a property from the namespace. If the property does not exist, nothing changes.

        Raises:
            NamespaceNotFoundError: The namespace does not exist.

        """
        where = f"removing property {key} of {namespace}"
        self._change("DELETE", namespace_resource(namespace, "property", key), where)

    def _change(self, method: str, path: str, where: str, body: Any = None) -> None:
        if self._rest.change(method, path, where, body, expected=(_NOT_FOUND,)).status == _NOT_FOUND:
            raise no_namespace(where)


def get_in_namespace(rest: RestClient, path: str, where: str) -> Any:
    """Call `RestClient.get` with a path below a namespace. A missing path means that the namespace does not exist.

    Raises:
        NamespaceNotFoundError: The namespace does not exist.

    """
    try:
        return rest.get(path, where)
    except TopicNotFoundError:
        raise no_namespace(where) from None


def no_namespace(where: str) -> NamespaceNotFoundError:
    """Return the error for a missing namespace. The error message begins with `where`."""
    return NamespaceNotFoundError(
        f"{where}: expected an existing namespace, got an unknown name; check the name of the tenant "
        f"and the namespace, or create the namespace"
    )

"""A process of the store of checkpoints, called as the JVM calls it."""

from __future__ import annotations

from fixtures.service_process import Refused, ServiceProcess

__all__ = ["Refused", "StoreProcess"]


class StoreProcess(ServiceProcess):
    def __init__(self, **settings: str) -> None:
        super().__init__("pyspark_pulsar.checkpoint", {"settings": settings})
        if "error" in self.ready:
            self.process.wait(timeout=30)
            raise Refused(**self.ready["error"])
        assert self.ready == {"ready": True}

    def put(self, path: str, body: bytes, owner: str | None, mode: str = "overwrite") -> None:
        self.call("put", body, path=path, owner=owner, mode=mode)

    def content(self, path: str) -> bytes:
        """Return a whole file, as the JVM reads it."""
        opened, body = self.request("open", path=path)
        if opened["inline"]:
            return body
        parts, length = [], 0
        while length < opened["length"]:
            part = self.request("read", file=opened["file"], path=path, offset=length, length=1 << 20)[1]
            assert part
            parts.append(part)
            length += len(part)
        return b"".join(parts)

    def upload(
        self, path: str, body: bytes, owner: str, mode: str = "overwrite", piece: int = 1 << 20
    ) -> None:
        number = self.call("upload_begin", path=path, owner=owner, mode=mode)["upload"]
        for start in range(0, len(body), piece):
            self.call("upload_write", body[start : start + piece], upload=number)
        self.call("upload_commit", upload=number)

    def names(self, path: str) -> list[str]:
        return [each["name"] for each in self.call("list", path=path)]

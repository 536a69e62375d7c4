"""Parse a link, or download its media, with yt-dlp in a child process.

The folder of a job has, beside partial files that a later try resumes:

- `parsed.json`: the description of the media by yt-dlp, so that the download does not request the
  page again. Its addresses expire, so an old one is not used.
- `fetched.json`: the result of the download. It is written last.
"""

import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlane_extractor.child_side import ChildError, Send, serve
from fairlane_extractor.sources.address_guard import AllowedAddresses, guard_sockets
from fairlane_extractor.sources.fetch_errors import child_error_of
from fairlane_extractor.sources.link_parser import LinkParser
from fairlane_extractor.sources.media_download import MediaDownload
from fairlane_extractor.sources.request_meter import RequestMeter, bounds_of_pages
from fairlane_extractor.sources.site_client import SiteClient

MEMORY_BYTES: Final = 2**30


def work(request: Mapping[str, Any], send: Send) -> Any:
    """Execute `{"action": "parse" | "download", "input", "link", "folder", "allow", …bounds}`."""
    _bound_memory()
    meter = RequestMeter(bounds_of_pages(request["request_seconds"]))
    guard_sockets(
        AllowedAddresses(request["allow"]),
        lambda refusal: meter.refuse(ChildError("private_address", str(refusal))),
    )
    folder = Path(request["folder"])
    client = SiteClient(meter, request_seconds=request["request_seconds"])
    parser = LinkParser(
        client,
        folder,
        largest_bytes=request["largest_bytes"],
        longest_seconds=request["longest_seconds"],
        cpu_seconds=request["cpu_seconds"],
    )
    try:
        if request["action"] == "parse":
            return msgspec.to_builtins(parser.parse(request["input"], request["link"]))
        download = MediaDownload(client, parser, folder, request, send)
        client.add_progress_hook(download.on_progress)
        return download.execute()
    except Exception as error:
        raise child_error_of(error, meter) from error


def _bound_memory() -> None:
    """Bound the data of this process and its programs, not their address space: a JavaScript
    engine, with which yt-dlp reads some sites, reserves far more addresses than it uses."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > MEMORY_BYTES:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    serve(work)

"""What needs an extra says which."""

import sys

import pytest

from suaveplan_mcp.host.extras import load_http
from suaveplan_mcp.server.signatures.optional_libraries import MissingLibraryError


@pytest.mark.parametrize(("module", "library"), [("http_client", "aiohttp"), ("http_server", "uvicorn")])
def test_a_missing_library_is_named_with_its_extra(module: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"suaveplan_mcp.host.{module}", raising=False)
    # Python takes this for a module that cannot be found.
    monkeypatch.setitem(sys.modules, library, None)

    with pytest.raises(MissingLibraryError, match=rf"HTTP needs {library}.*'suaveplan-mcp\[http\]'"):
        load_http(module)


def test_a_module_that_can_be_loaded_is_returned() -> None:
    assert "suaveplan_mcp.host.http_sse_server" == load_http("http_sse_server").__name__

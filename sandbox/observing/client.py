"""What a server gets to know of its client: a name, and the capabilities that it is told to declare."""

import mcp_types as types

CLIENT = types.Implementation(name="tipstaff", version="1")


def callbacks(capabilities):
    """What the SDK declares a capability by; each of them gives the server nothing."""

    async def refuse(context, params=None):
        return types.ErrorData(code=types.INVALID_REQUEST, message="nobody is here to answer")

    async def no_roots(context):
        return types.ListRootsResult(roots=[])

    by_name = {
        "roots": ("list_roots_callback", no_roots),
        "sampling": ("sampling_callback", refuse),
        "elicitation": ("elicitation_callback", refuse),
    }
    return dict(by_name[name] for name in capabilities)


def declared(asked):
    """The client's capabilities, as they were last sent."""
    for message in reversed(asked):
        params = message.params or {}
        meta = params.get("_meta") or {}
        found = params.get("capabilities") or meta.get(types.CLIENT_CAPABILITIES_META_KEY)
        if isinstance(found, dict):
            return found
    return {}

"""`ttnn._ttnn.mesh_socket`: names only."""

from tt_run.runtime.exports import publish as _publish

_TABLE = {
    "tt_run.runtime.sockets.config": """
        SocketEndpoint MeshCoreCoord SocketConnection SocketMemoryConfig SocketConfig
    """,
    "tt_run.runtime.sockets.socket": "MeshSocket create_socket_pair",
}

__getattr__, __dir__ = _publish(globals(), _TABLE)

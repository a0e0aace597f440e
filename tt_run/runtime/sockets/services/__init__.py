"""Services that stream tensors of one shape again and again: host to mesh, mesh to host, mesh to mesh.

A service owns a tensor that stays where it is (`get_backing_tensor`). With `worker_cores` a program takes what arrived by
`inbound_socket_service_sync` and hands over what leaves by `outbound_socket_service_sync` (`sync`), each transfer once and in order;
`transfers` has the queue. Source: reference library 0.81.1.
"""

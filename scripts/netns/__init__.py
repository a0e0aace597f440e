"""Hosts made of Linux namespaces.

A host is one process tree in its own net, uts, ipc, pid and mount namespaces: own host name, eth0, lo, /dev/shm, $TMPDIR,
/etc/hosts and process ids; files are shared, as on a cluster with a common file system. A bridge in one more network namespace
joins the hosts. The machine's own network is not touched and has no route from inside. Everything hangs under the first
process of an outer pid namespace, so that ending one process removes all of it.

    switch.py    the first process of the cluster: bridge, cables, hosts
    host.py      the first process of a host: runs what is asked over a unix socket
    control.py   from outside: up, down, run on a host, kill, cut, heal
    command.py   the command line
"""

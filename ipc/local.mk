# ipc/

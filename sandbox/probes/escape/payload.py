"""What each route tries: a listener, a secret and a file of the host. Arguments: the folder, the port."""

import os
import socket
import sys

from tools import read, write

print("ran")
folder, port = sys.argv[1], int(sys.argv[2])
try:
    print(read(os.path.join(folder, "secret")).decode())
except OSError:
    pass
try:
    write(os.path.join(folder, "written"))
except OSError:
    pass
try:
    with socket.create_connection(("127.0.0.1", port), 0.3) as connection:
        connection.send(b"x")
except OSError:
    pass

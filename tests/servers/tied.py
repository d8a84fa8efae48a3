"""Runs a command that ends with the process that started it: ``tied.py PID COMMAND...``.

The kernel kills it when the thread that started it ends: start a server from a thread that lives as long as it is used.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
# Half a thousand connections through a proxy take four descriptors each; systems allow 1,024 unless asked for more.
DESCRIPTORS = 65_536

if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    # The parent may have died before the call above.
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the process that started this command is gone")
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
allowed = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
if soft != resource.RLIM_INFINITY and soft < allowed:
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
os.execvp(sys.argv[2], sys.argv[2:])

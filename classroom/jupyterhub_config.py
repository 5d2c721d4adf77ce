"""JupyterHub for a class: lessons on the simulator, one GPU for all behind the check's queue.

    jupyterhub -f classroom/jupyterhub_config.py

in an environment that has the extra: pip install -e '.[classroom]' -c constraints.txt. Whoever has
an account on this machine can log in. SOFTMAX_HUB_GPU=0 lets checks use GPU 0; without it nobody
reaches one. GUIDE.md says what else a class needs, such as https.
"""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821 (JupyterHub brings it)

GPU = os.environ.get("SOFTMAX_HUB_GPU", "")  # its number, for CUDA_VISIBLE_DEVICES
QUEUE = Path(os.environ.get("SOFTMAX_GPU_LOCKS", "/tmp/softmax-gpu-locks"))

# This machine only; a web server in front of it brings https.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
# The proxy in Python, which the extra brings. Node's has the same options: the name is enough.
PROXY = "from configurable_http_proxy.cli import main; main()"
c.ConfigurableHTTPProxy.command = [sys.executable, "-c", PROXY]

c.Authenticator.allow_all = True
c.Spawner.cmd = [sys.executable, "-m", "jupyterhub.singleuser"]
c.Spawner.default_url = "/lab"
c.Spawner.start_timeout = 180  # seconds; a whole class arrives in the same minute
c.Spawner.http_timeout = 180
# A kernel that is left alone gives its memory back after half an hour, a server after two hours.
c.Spawner.args = [
    "--MappingKernelManager.cull_idle_timeout=1800",
    "--MappingKernelManager.cull_interval=300",
    "--MappingKernelManager.cull_connected=True",
    "--ServerApp.shutdown_no_activity_timeout=7200",
]
c.Spawner.environment = {
    "SOFTMAX_DEVICE": "sim",  # a lesson never takes the GPU, whether there is one or not
    "CUDA_VISIBLE_DEVICES": GPU,
    "OMP_NUM_THREADS": "1",  # a core a user, not all cores for whoever comes first
    "OPENBLAS_NUM_THREADS": "1",
}
if GPU:
    # `%%exercise NAME gpu` waits its turn here, and runs in a process of its own.
    QUEUE.mkdir(parents=True, exist_ok=True)
    QUEUE.chmod(0o1777)
    c.Spawner.environment["SOFTMAX_GPU_LOCKS"] = str(QUEUE)

"""The class's hub for a trial on loopback: users without accounts, all of them this one."""

import os

c = get_config()  # noqa: F821 (JupyterHub brings it)
load_subconfig(os.environ["TRIAL_CONFIG"])  # noqa: F821

c.JupyterHub.bind_url = os.environ["TRIAL_URL"]
c.JupyterHub.hub_port = int(os.environ["TRIAL_HUB_PORT"])
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{os.environ['TRIAL_PROXY_PORT']}"
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = os.path.join(os.getcwd(), "home", "{username}")
if os.geteuid() == 0:
    c.Spawner.args = [*c.Spawner.args, "--allow-root"]
c.JupyterHub.services = [{"name": "trial", "api_token": os.environ["TRIAL_TOKEN"]}]
c.JupyterHub.load_roles = [
    {
        "name": "trial",
        "scopes": ["admin:users", "admin:servers", "access:servers"],
        "services": ["trial"],
    }
]

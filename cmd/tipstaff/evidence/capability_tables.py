"""What each capability looks like: modules, functions, methods, commands and textual patterns, as data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

SHELL = "raw_shell_execution"
PROCESS = "process_execution"
NETWORK = "network_egress_from_sandbox"
DYNAMIC = "dynamic_code"
DELETION = "file_deletion"
UNREADABLE = "unreadable_code"
ALL = frozenset({SHELL, PROCESS, NETWORK, DYNAMIC, DELETION, UNREADABLE})


def _each(capability: str, names: str, prefix: str = "") -> dict[str, str]:
    return {prefix + name: capability for name in names.split()}


def _merged(*tables: Mapping[str, str]) -> Mapping[str, frozenset[str]]:
    names = {name for table in tables for name in table}
    return MappingProxyType(
        {name: frozenset(table[name] for table in tables if name in table) for name in names}
    )


# Importing one of these, or anything below it, is the capability.
MODULES = _merged(
    _each(NETWORK, "aioftp aiohttp aiosmtplib anthropic asyncssh boto3 botocore dns ftplib"),
    _each(NETWORK, "github google.cloud grpc http.client http.server httplib httplib2 httpx"),
    _each(NETWORK, "imaplib kafka nntplib openai paramiko pika poplib psycopg psycopg2 pycurl"),
    _each(NETWORK, "pymongo pymysql redis requests scapy slack_sdk smtplib socket socketserver"),
    _each(NETWORK, "ssl sshtunnel stripe telnetlib tornado treq twilio twisted urllib.request"),
    _each(NETWORK, "urllib2 urllib3 websocket websockets xmlrpc zmq _socket _ssl"),
    _each(SHELL, "commands fabric invoke pexpect plumbum popen2 pty sh sarge"),
    _each(PROCESS, "_posixsubprocess"),
    _each(
        DYNAMIC,
        "_ctypes _pickle cffi cloudpickle code codeop ctypes dill imp jsonpickle marshal",
    ),
    _each(DYNAMIC, "pickle runpy shelve xxsubinterpreters _xxsubinterpreters zipimport"),
    _each(DELETION, "send2trash"),
)

# Naming one of these, called or not, is the capability. A name that ends in * stands for its beginnings.
FUNCTIONS = _merged(
    _each(SHELL, "system popen popen2 popen3 popen4 startfile exec* spawn* posix_spawn*", "os."),
    _each(SHELL, "getoutput getstatusoutput", "subprocess."),
    _each(SHELL, "create_subprocess_shell subprocess.create_subprocess_shell", "asyncio."),
    _each(SHELL, "platform.popen"),
    _each(PROCESS, "run call check_call check_output Popen", "subprocess."),
    _each(PROCESS, "create_subprocess_exec subprocess.create_subprocess_exec", "asyncio."),
    # Ending the process at once also ends whoever counts the test results, with the exit code that suits.
    _each(PROCESS, "fork forkpty _exit abort", "os."),
    _each(PROCESS, "anyio.run_process anyio.open_process trio.run_process"),
    _each(
        NETWORK,
        "open_connection open_unix_connection start_server start_unix_server",
        "asyncio.",
    ),
    _each(NETWORK, "anyio.connect_tcp trio.open_tcp_stream webbrowser.open*"),
    _each(
        DYNAMIC,
        "eval exec compile __import__ __builtins__ __loader__ breakpoint execfile reload",
        "builtins.",
    ),
    _each(DYNAMIC, "import_module __import__ reload", "importlib."),
    _each(DYNAMIC, "spec_from_file_location module_from_spec spec_from_loader", "importlib.util."),
    _each(DYNAMIC, "importlib.machinery.* importlib._bootstrap* pkgutil.resolve_name"),
    _each(DYNAMIC, "pydoc.locate sys.modules sys._getframe sys.meta_path sys.path_hooks"),
    _each(DYNAMIC, "sys._current_frames sys.settrace sys.setprofile inspect.currentframe"),
    _each(DYNAMIC, "inspect.stack inspect.trace gc.get_objects gc.get_ref*"),
    _each(DYNAMIC, "types.FunctionType types.CodeType types.LambdaType"),
    _each(DYNAMIC, "timeit.timeit timeit.repeat timeit.Timer cProfile.run profile.run"),
    _each(DYNAMIC, "pdb.run pdb.runeval bdb.* trace.Trace numpy.load* joblib.load torch.load"),
    _each(DYNAMIC, "yaml.unsafe_load* yaml.full_load* yaml.UnsafeLoader yaml.FullLoader"),
    _each(DYNAMIC, "pandas.read_pickle pandas.eval yaml.Loader yaml.CLoader"),
    _each(DELETION, "remove unlink rmdir removedirs", "os."),
    _each(DELETION, "shutil.rmtree"),
)

# An attribute of this name is the capability whatever object it is taken from.
METHODS = _merged(
    _each(SHELL, "create_subprocess_shell subprocess_shell exec_command"),
    _each(PROCESS, "create_subprocess_exec subprocess_exec"),
    _each(NETWORK, "create_connection create_datagram_endpoint sock_connect exec_command"),
    _each(NETWORK, "create_unix_connection"),
    _each(DYNAMIC, "exec_module load_module runcode runsource __subclasses__ __globals__"),
    _each(DYNAMIC, "__builtins__ __code__ __closure__ __getattribute__ __import__"),
    _each(DYNAMIC, "f_globals f_builtins f_locals gi_frame tb_frame cr_frame"),
    _each(DELETION, "unlink rmdir rmtree removedirs"),
)

# A module that is handed on as a value, or asked for an attribute that cannot be told, counts as this.
ESCAPES = MappingProxyType(
    {
        "os": frozenset({SHELL, DELETION}),
        "subprocess": frozenset({SHELL, PROCESS}),
        "builtins": frozenset({DYNAMIC}),
        "importlib": frozenset({DYNAMIC}),
        "shutil": frozenset({DELETION}),
        "asyncio": frozenset({SHELL, NETWORK}),
    }
)
# The same module under another name.
SAME_MODULE = MappingProxyType(
    {"posix": "os", "nt": "os", "__builtin__": "builtins", "_asyncio": "asyncio", "_os": "os"}
)
# Modules that other modules keep as attributes, as in ``shutil.os``.
CARRIED = frozenset(
    {"os", "sys", "subprocess", "builtins", "shutil", "importlib", "socket", "posix", "_os"}
)
SUBPROCESS_CALLS = frozenset(
    {f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")}
)
# Position of ``shell`` among the positional parameters of every subprocess call.
SHELL_POSITION = 8

SHELLS = frozenset(
    "sh bash dash zsh ksh mksh ash fish csh tcsh rbash cmd cmd.exe powershell powershell.exe pwsh".split()
)
COMMANDS = MappingProxyType(
    {
        **_each(
            NETWORK, "aria2c aws az curl dig ftp gcloud gh host http https httpie kubectl mail nc"
        ),
        **_each(
            NETWORK, "ncat netcat nslookup npx openssl ping pipx rsync scp sendmail sftp socat"
        ),
        **_each(NETWORK, "ssh telnet tftp wget xh git-remote-https"),
        **_each(DELETION, "rm rmdir shred srm trash unlink wipe"),
        **_each(DYNAMIC, "eval"),
    }
)
# These count wherever they stand in a line, because the word before may be a wrapper that nobody knows.
ANYWHERE = frozenset("curl wget nc ncat socat rm unlink shred".split())
_INSTALLS = _each(
    NETWORK, "install add download update upgrade get ci i exec dlx publish push pull"
)
COMMAND_WORDS = MappingProxyType(
    {
        "git": {**_each(NETWORK, "clone fetch pull push ls-remote submodule"), "rm": DELETION},
        "find": {"-delete": DELETION, "-exec": SHELL, "-execdir": SHELL, "-ok": SHELL},
        "docker": _each(NETWORK, "pull push run build login"),
        "podman": _each(NETWORK, "pull push run build login"),
        **dict.fromkeys(
            "pip pip3 uv npm pnpm yarn bun gem cargo go apt apt-get apk dnf yum brew conda mamba poetry snap".split(),
            _INSTALLS,
        ),
    }
)
INTERPRETERS = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|php|lua|deno)[\d.]*\Z")
INTERPRETER_CODE = frozenset("-c -e -r -E --eval -p --print -".split())
WRAPPERS = frozenset(
    "env timeout nice nohup setsid stdbuf sudo doas xargs time busybox toybox exec command chroot unshare"
    " ionice taskset flock watch parallel strace script bwrap".split()
)
LOADER = re.compile(r"ld-(?:linux|musl).*\.so[.\d]*\Z")
DEVICE = re.compile(r"/dev/(?:tcp|udp)/")
URL = re.compile(r"\b(?:https?|ftp|wss?|ssh|git)://", re.IGNORECASE)

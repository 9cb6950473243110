"""Textual patterns for the languages that have no parser here; they err towards finding."""

from __future__ import annotations

import re
from types import MappingProxyType

from tipstaff.evidence.capability_tables import DELETION, DYNAMIC, NETWORK, PROCESS, SHELL

_MODULE = r"""(?:require\s*\(|import\s*\(|from|import|getBuiltinModule\s*\()\s*['"`](?:node:)?"""


JAVASCRIPT = (
    (r"child_process|\bexecSync\b|\bexecFileSync\b|\bspawnSync\b|\bexeca\b|\bshelljs\b", SHELL),
    (r"(?<![.\w$])exec\s*\(|\bshell\s*:\s*(?!false\b)|process\.binding|\bzx['\"]", SHELL),
    (r"(?<![\w$])spawn\s*\(|Deno\s*\.\s*(?:run|Command)\b|Bun\s*\.\s*(?:spawn|\$)", PROCESS),
    (r"child_process|\bworker_threads\b", PROCESS),
    (
        r"(?<![\w$])fetch\s*\(|\bXMLHttpRequest\b|\bWebSocket\b|\bEventSource\b|\bsendBeacon\b",
        NETWORK,
    ),
    (_MODULE + r"(?:https?2?|net|tls|dgram|dns|undici|axios|got|ws|node-fetch|ssh2)\b", NETWORK),
    (r"\baxios\b|\bDeno\s*\.\s*connect|\bimportScripts\s*\(", NETWORK),
    (r"(?<![.\w$])eval\b|\bnew\s+Function\b|(?<![.\w$])Function\s*\(|\bvm\s*\.\s*\w*run", DYNAMIC),
    (_MODULE + r"vm\b|\.\s*constructor\s*\(|\[\s*['\"`]constructor|\bWebAssembly\b", DYNAMIC),
    (r"""\b(?:require|import)\s*\(\s*(?!['"`][^'"`$]*['"`]\s*[,)])""", DYNAMIC),
    (r"\b(?:globalThis|window|global|self)\s*\[|\bReflect\s*\.\s*(?:get|apply|construct)", DYNAMIC),
    (r"\bset(?:Timeout|Interval)\s*\(\s*['\"`]", DYNAMIC),
    (r"\b(?:unlink|rmdir|rm)(?:Sync)?\s*\(|\brimraf\b|Deno\s*\.\s*remove", DELETION),
)
REGO = ((r"\bhttp\s*\.\s*send\b|\bnet\s*\.\s*lookup_ip_addr\b", NETWORK),)
HTML = ((r"<script\b|\bon[a-z]+\s*=\s*['\"]|javascript:", DYNAMIC),)
OTHER = (
    (r"\bsystem\s*\(|\bpopen\w*\s*\(|\bexec[lv]p?e?\s*\(|\bshell_exec\b|\bpassthru\b", SHELL),
    (r"\bos\.execute\b|\bio\.popen\b|\bOpen3\b|%x[\[{(]|\bproc_open\b|\bqx\s*[/{(|]", SHELL),
    (r"(?<![.\w])(?:system|exec)\s+['\"]|\bInvoke-Expression\b|\biex\b|\bStart-Process\b", SHELL),
    (r"\bos/exec\b|\bexec\.Command\b|\bCommand::new\b|\bgetRuntime\b|\bProcessBuilder\b", PROCESS),
    (r"\bProcess\.(?:Start|spawn)\b|\bNSTask\b|\bposix_spawn|\bfork\s*\(", PROCESS),
    (
        r"\bnet/http\b|\bnet\.Dial|\bNet::HTTP\b|\bopen-uri\b|\breqwest\b|\bTcpStream\b|\bhyper::",
        NETWORK,
    ),
    (r"\bcurl_\w+\s*\(|\bfsockopen\b|\bLWP::|\bIO::Socket\b|\bTCPSocket\b|\bHttpClient\b", NETWORK),
    (r"\bURLSession\b|\bjava\.net\.|\bInvoke-(?:WebRequest|RestMethod)\b|\bsocket\s*\(", NETWORK),
    (r"(?<![.\w])eval\b|\binstance_eval\b|\bclass_eval\b|\bloadstring\b|\bdlopen\s*\(", DYNAMIC),
    (
        r"\bos\.Remove|\bremove_(?:file|dir)|\bFileUtils\.rm|\bFile\.delete\b|\bunlink\s*\(",
        DELETION,
    ),
    (r"\bRemove-Item\b|\bos\.remove\b|\brmdir\s*\(|\bFiles\.delete", DELETION),
)
# A line with one of these may bring to life, or be part of, what stands on other lines.
QUOTING = re.compile(r"/\*|\*/|`|<!--|-->|^=\w|<<|\"\"\"|'''")
# Languages that hold data or prose: nothing of them runs.
INERT = frozenset({"text", "csv", "css", "ini", "toml"})
BY_LANGUAGE = MappingProxyType(
    {"javascript": JAVASCRIPT, "typescript": JAVASCRIPT, "rego": REGO, "html": HTML}
)

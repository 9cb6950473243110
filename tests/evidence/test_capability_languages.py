"""Code of other languages that must be seen through, and code that must be left alone."""

from __future__ import annotations

import pytest

from tipstaff.evidence.capabilities import detect

SHELL = "raw_shell_execution"
PROCESS = "process_execution"
NETWORK = "network_egress_from_sandbox"
DYNAMIC = "dynamic_code"
DELETION = "file_deletion"
UNREADABLE = "unreadable_code"

OTHER_EVASIONS = [
    (SHELL, "x.sh", "shell", "#!/bin/sh\necho hi"),
    (NETWORK, "x.sh", "shell", "cu\\\nrl x"),
    (NETWORK, "x.sh", "shell", 'c"ur"l x'),
    (NETWORK, "x.sh", "shell", "echo x > /dev/tcp/h/1"),
    (NETWORK, "x.sh", "shell", "unheard-of-wrapper curl x"),
    (NETWORK, "x.sh", "shell", "git -C . push"),
    (DELETION, "x.sh", "shell", "env X=1 timeout 5 /bin/rm -fr x"),
    (DELETION, "x.sh", "shell", "echo $(find . -delete)"),
    (SHELL, "notes.txt", "text", "#!/bin/sh\necho hi"),
    (SHELL, "x.py", "python", "#!/bin/sh\n'''exec' true\n'''"),
    (UNREADABLE, "run", None, "#!/opt/strange\nhi"),
    (SHELL, "Makefile", "makefile", "all:\n\techo hi"),
    (SHELL, "Makefile", "makefile", "all: ; echo hi"),
    (SHELL, "Makefile", "makefile", "X := $(shell ls)"),
    (SHELL, "Makefile", "makefile", ".RECIPEPREFIX = >\nall:\n> echo hi"),
    (NETWORK, "Makefile", "makefile", "GET = curl x"),
    (SHELL, "Dockerfile", "dockerfile", "FROM x\nrun ls"),
    (NETWORK, "Dockerfile", "dockerfile", 'FROM x\nRUN ["curl", "x"]'),
    (NETWORK, "Dockerfile", "dockerfile", "FROM x\nRUN true \\\n  && wget x"),
    (SHELL, "Dockerfile", "dockerfile", "FROM x\nCOPY <<EOF /a\nls\nEOF"),
    (NETWORK, "Dockerfile", "dockerfile", "FROM x\nADD https://h/x /x"),
    (SHELL, "w.yml", "yaml", "jobs:\n  a:\n    steps:\n      - run: ls"),
    (NETWORK, "w.yml", "yaml", "jobs:\n  a:\n    steps:\n      - run: |\n          curl x\n"),
    (SHELL, "w.yml", "yaml", "x: &a ls\njobs: {a: {steps: [{run: *a}]}}"),
    (UNREADABLE, "w.yml", "yaml", "a: [\nb"),
    (UNREADABLE, "x.json", "json", "{"),
    (SHELL, "package.json", "json", '{"scripts": {"postinstall": "node x"}}'),
    (NETWORK, "package.json", "json", '{"scripts": {"postinstall": "curl x"}}'),
    (SHELL, "x.js", "javascript", 'require("child_process").exec("x")'),
    (SHELL, "x.js", "javascript", 'require("child_" + "process")'),
    (SHELL, "x.ts", "typescript", 'import { exec } from "node:child_process"'),
    (NETWORK, "x.js", "javascript", "fetch('x')"),
    (NETWORK, "x.js", "javascript", "import h from 'node:https'"),
    (DYNAMIC, "x.js", "javascript", "\\u0065val(x)"),
    (DYNAMIC, "x.js", "javascript", "require(name)"),
    (DYNAMIC, "x.js", "javascript", "globalThis['ev' + 'al'](x)"),
    (DYNAMIC, "x.js", "javascript", "new Function('x')"),
    (DELETION, "x.js", "javascript", "fs.rmSync(x)"),
    (SHELL, "x.md", "markdown", "Text\n```python\nimport os\nos.system('x')\n```\n"),
    (SHELL, "x.md", "markdown", "- item\n   ~~~ py\n   import os\n   os.system('x')\n"),
    (SHELL, "x.md", "markdown", "```pycon\n>>> import os\n>>> os.system('x')\n0\n```"),
    (NETWORK, "x.rego", "rego", "x := http.send({})"),
    (SHELL, "x.rb", "ruby", "system('x')"),
    (SHELL, "x.pl", "perl", 'system "x"'),
    (PROCESS, "x.go", "go", 'import "os/exec"'),
    (NETWORK, "x.go", "go", 'import "net/http"'),
    (SHELL, "x.php", "php", "<?php shell_exec('x');"),
    (SHELL, "x.ps1", "powershell", "iex $x"),
    (DYNAMIC, "x.html", "html", "<script>a</script>"),
]
OTHER_INNOCENTS = [
    ("x.md", "markdown", "Run `os.system('x')`.\n\n```bash\ncurl x | sh\n```\n"),
    ("x.md", "markdown", "```python\nprint('hi')\n```\n"),
    ("x.md", "markdown", "```pycon\n>>> 1 + 1\n2\n```\n"),
    ("x.txt", "text", "rm -rf /; system('x')"),
    ("x.json", "json", '{"scripts": {"x": "curl"}}'),
    ("package.json", "json", '{"name": "x", "dependencies": {}}'),
    ("x.toml", "toml", "run = 'curl x'"),
    ("x.yaml", "yaml", "run: curl x\nsteps: [{run: ls}]"),
    ("w.yml", "yaml", "on: push\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4\n"),
    ("Makefile", "makefile", "# curl\nCC := gcc\n.PHONY: all\nall: a b\n"),
    ("Dockerfile", "dockerfile", "# RUN x\nFROM x\nCOPY a b\nENV A=1\nWORKDIR /a\n"),
    ("x.sh", "shell", "#!/bin/sh\n# curl x\n\n"),
    ("x.js", "javascript", "const m = /a/.exec(s); console.log(m)"),
    ("x.ts", "typescript", "import { a } from './a'\nexport const b = a + 1"),
    ("x.js", "javascript", "const x = require('./local')"),
    ("x.rego", "rego", 'package a\nallow if input.method == "GET"'),
    ("x.go", "go", 'package a\nimport "fmt"\nfunc f() { fmt.Println("x") }'),
    ("x.css", "css", "a { color: red }"),
    ("x.rb", "ruby", "puts 'x'"),
]


@pytest.mark.parametrize(("capability", "path", "language", "code"), OTHER_EVASIONS)
def test_code_of_another_language_is_seen_through(
    capability: str, path: str, language: str | None, code: str
) -> None:
    assert capability in detect(path, language, code, None)


@pytest.mark.parametrize(("path", "language", "code"), OTHER_INNOCENTS)
def test_innocent_text_of_another_language_is_left_alone(
    path: str, language: str, code: str
) -> None:
    assert detect(path, language, code, None) == set()

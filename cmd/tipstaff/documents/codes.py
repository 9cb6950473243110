"""Every public code that Python gives: in a verdict, in an error, or as a problem that a command reports.

All other codes come from the annotations of Rego rules. Nothing here judges: a code in a verdict stands for an answer
that is missing, and a missing answer refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Code:
    """What a code in a verdict means, and what would change it."""

    message: str
    solution: str


CODES: Mapping[str, Code] = MappingProxyType(
    {
        "engine.unavailable": Code(
            "the policy engine cannot be reached",
            "run `tipstaff doctor`; it starts the sidecar and says what stands in the way",
        ),
        "engine.certificate": Code(
            "the remote policy engine's certificate is not accepted",
            "name the right authority in TIPSTAFF_OPA_CA, or renew the certificate for this host name",
        ),
        "engine.client_certificate": Code(
            "the remote policy engine ended the handshake, as it does without a client certificate that it knows",
            "set TIPSTAFF_OPA_CLIENT_CERT and TIPSTAFF_OPA_CLIENT_KEY to files that its authority issued",
        ),
        "engine.timeout": Code(
            "the policy engine did not answer in time",
            "ask again; if it repeats, run `tipstaff sidecar stop` so that a new one starts",
        ),
        "engine.http": Code(
            "the policy engine answered with an error",
            "run `tipstaff policy test`; a rule that fails while it is evaluated answers so",
        ),
        "engine.malformed": Code(
            "the policy engine's answer is not one whole JSON document",
            "run `tipstaff sidecar stop` and ask again",
        ),
        "engine.undefined": Code(
            "the policy engine knows no such decision",
            "run `tipstaff sidecar stop` and ask again, so that the current bundle is loaded",
        ),
        "engine.revision": Code(
            "the answer comes from another revision of the policy than the expected one",
            "run `tipstaff sidecar stop` and ask again, so that the current bundle is loaded",
        ),
        "engine.not_ready": Code(
            "the policy engine has not activated every bundle",
            "run `tipstaff doctor`; a bundle whose signature or revision is wrong is never activated",
        ),
        "engine.invalid": Code(
            "the policy engine's answer is not one valid verdict on this question",
            "run `tipstaff policy test`; an overlay may give reasons that the contract does not know",
        ),
        "obligation.unknown": Code(
            "the verdict demands something that this version cannot do",
            "remove the obligation from the overlay, or use a version that knows it",
        ),
        "explanation.unpersisted": Code(
            "the decision could not be written to the audit trail, so nothing is carried out",
            "run `tipstaff doctor`; it names what keeps the state folder from being written",
        ),
    }
)

# What each code says that is no verdict's; the error or problem that bears it brings its own words and its own fix.
ERRORS: Mapping[str, str] = MappingProxyType(
    {
        "approval.ambiguous": "the key is too short, or several requests begin with it",
        "approval.consumed": "the approval was used before",
        "approval.decided": "somebody has decided on the request",
        "approval.expired": "the request's time is over",
        "approval.future": "the request was made at a time that lies ahead of this clock",
        "approval.single": "a first confirmation of a request that needs only one",
        "approval.status": "no request can have the status that was asked for",
        "approval.token": "the second confirmation lacks the first one's token, or came too late",
        "approval.undecided": "the request is not approved, so it cannot be used",
        "approval.unknown": "no request has this key",
        "batch.empty": "a batch holds no document",
        "bundle.signature": "a bundle is not what its key signed",
        "bundle.unbuilt": "the bundle of a checkout cannot be built",
        "bundle.unreadable": "the overlay's bundle cannot be read",
        "bundle.unsigned": "a bundle, or a key to check it by, is missing",
        "change.ambiguous": "the id is too short, or several changes begin with it",
        "change.exists": "a change with this id is recorded already",
        "change.unknown": "no change has this id",
        "checkpoint.altered": "a document of the witness is not what was written, or its key is gone",
        "checkpoint.missing": "the witness has no checkpoint of the trail",
        "comparison.empty": "there is no case to compare policies over",
        "config.empty_value": "a setting has no value",
        "config.not_a_mapping": "a configuration file is not a mapping of settings",
        "config.syntax": "a file is not the YAML that it must be",
        "corpus.incomplete": "a case is no complete input document",
        "diff.ambiguous": "the diff can be read in two ways",
        "diff.does_not_apply": "the diff does not fit its base",
        "diff.empty": "the diff is empty",
        "diff.mode": "the diff makes a link, a submodule or another kind of file that no change may make",
        "diff.no_change": "the diff changes nothing",
        "diff.not_a_diff": "the input is not a unified diff",
        "diff.path": "the diff names a path outside the repository, or one of git's own",
        "diff.too_large": "the diff or a file that it makes is larger than what is read",
        "diff.too_many_files": "the diff changes more files than are read",
        "docker.failed": "the Docker daemon did not do what it was asked",
        "docker.permission": "this user may not speak to the Docker daemon",
        "docker.program": "OPA's program cannot run in an image that holds nothing else",
        "docker.unreachable": "no Docker daemon answers",
        "document.invalid": "a document has not the shape of its kind",
        "enforce.moved": "a change's branch no longer points at what was asked about",
        "enforce.refused": "a verdict that refuses was about to be carried out",
        "enforce.revision": "the verdict comes from another policy than the current one",
        "enforce.unjudged": "no verdict of this engine was given on exactly this, or it was used",
        "fact.computed": "a fact is computed from others, so it cannot be changed by itself",
        "fact.unknown": "a document has no such fact",
        "file.unreadable": "a file cannot be read",
        "file.unwritable": "a file cannot be written",
        "folder.exposed": "a private folder is a link, another user's, or open to others",
        "forge.refused": "the forge did not do what it was asked",
        "forge.unauthorized": "the forge did not accept the token",
        "forge.unreachable": "the forge gave no answer, or none that is its own",
        "git.failed": "git did not do what it was asked",
        "git.missing": "git was not found",
        "git.output": "git's own output is cut short",
        "git.push": "the branch could not be pushed",
        "git.timeout": "git did not finish in time",
        "init.exists": "a file that init would write is there",
        "interrupted": "the command was interrupted",
        "json.duplicate_key": "a key stands twice in one object",
        "json.encoding": "a document is not plain UTF-8",
        "json.not_canonical": "a value has no canonical form, or a line is not in it",
        "json.number": "a number is none, or beyond what every reader holds exactly",
        "json.syntax": "a document is not one JSON document",
        "json.too_deep": "a document is nested too deeply",
        "json.too_large": "a document is larger than what is read",
        "key.exists": "a file lies where a new key would be written",
        "key.invalid": "the public key is none of the kind that bundles are signed with",
        "key.missing": "there is no private key to sign with",
        "key.unreadable": "the private key cannot be read",
        "key.unwritable": "a new key cannot be written",
        "lock.timeout": "another process kept a lock too long",
        "opa.ca": "the file of the authority for a remote OPA cannot be read",
        "opa.certificate": "the client certificate for a remote OPA, or its key, cannot be used",
        "opa.failed": "OPA's program could not be run to its end",
        "opa.missing": "no OPA was found, and none could be installed",
        "opa.token": "the token for a remote OPA is not one",
        "opa.unusable": "TIPSTAFF_OPA names no OPA that is new enough",
        "opa.url": "the address of a remote OPA is not acceptable",
        "overlay.not_signed": "the overlay's Rego differs from its signed bundle",
        "pause.unknown": "the pause state cannot be read or written",
        "policy.empty": "a policy folder has no rule to check",
        "policy.explanation": "the file that explains surviving mutants is not what it must be",
        "policy.invalid": "a policy folder does not compile, or holds what no bundle may",
        "policy.manifest": "a policy folder's manifest does not name exactly one root",
        "policy.none": "there is no policy folder",
        "policy.tests_fail": "tests of a policy fail before anything is changed",
        "project.no_git": "the folder is not the top of a git repository",
        "project.inner": "the project is only a folder of the repository that is to be changed",
        "project.none": "there is no such folder",
        "repository.bare": "the repository has no working tree",
        "repository.branch_name": "a name is not one that a branch can have",
        "repository.destination": "files cannot be extracted into this folder",
        "repository.extract": "files of a tree cannot be written",
        "repository.foreign_base": "the base is no commit of the branch that the pull request goes to",
        "repository.missing": "there is no git repository here",
        "repository.no_commits": "the repository has no commits",
        "repository.path": "a tree holds a path that cannot be extracted safely",
        "repository.unknown_revision": "a revision names no commit",
        "repository.untrusted": "git does not trust the repository's owner",
        "sandbox.no_folder": "no temporary folder can be made for a run",
        "sandbox.probe": "the probe inside a sandbox did not run to its end",
        "sandbox.profile_unknown": "there is no such sandbox profile",
        "sandbox.setup": "a sandbox could not be set up",
        "sandbox.unavailable": "nothing can isolate a run here",
        "sandbox.unreachable": "what a run needs cannot be shown to the user that it runs as",
        "sandbox.visible_path": "a path that a run needs cannot be shown in it",
        "shell.unknown": "there is no completion for this shell",
        "sidecar.mode": "the mode that was asked for is not the one that decisions would use",
        "state.unusable": "the state folder cannot be made",
        "store.corrupt": "the ledger holds what this program does not write",
        "store.locked": "another program holds the ledger",
        "store.newer": "a later version wrote the ledger",
        "store.unreadable": "the ledger cannot be read or written",
        "store.weak": "SQLite does not keep a setting that durability rests on",
        "tests.command": "the test command is not one that can be run",
        "tests.program_missing": "the program of the test command was not found",
        "trail.ambiguous": "the decision id is too short, or several decisions begin with it",
        "trail.altered": "a record's contents are not what was written",
        "trail.corrupt": "a line of the trail is not a record",
        "trail.malformed": "bytes in the trail are no record",
        "trail.missing": "the whole trail is missing",
        "trail.order": "a record is missing or stands out of order",
        "trail.rewritten": "a record is another one than the witness saw",
        "trail.rolled_back": "records that the witness saw are missing at the end",
        "trail.swapped": "this is another trail than the witness first saw here",
        "trail.too_large": "a record is larger than what is kept",
        "trail.torn": "an unfinished record ends the trail",
        "trail.truncated": "records that the witness saw are missing at the end",
        "trail.unknown": "no record has this decision id",
        "trail.unnamed": "the trail's id is missing or malformed",
        "trail.unreadable": "the trail cannot be read",
        "trail.unwitnessed": "there are records, and the witness knows none of them",
        "trail.unwritable": "the trail cannot be written, so nothing is done",
        "usage": "the command line is not one that the command takes",
        "verdict.no_pull_request": "the verdict asks for no pull request",
    }
)

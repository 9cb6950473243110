"""Complete the input, ask once, check the answer, write it down, and only then give the verdict.

Whatever goes wrong on the way ends in a verdict that is not ``allow``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tipstaff.documents.base import Contract, Json
from tipstaff.documents.context import Actor, ApprovalFacts
from tipstaff.documents.verdict import Verdict
from tipstaff.engine import answer, record
from tipstaff.engine.many import Results, ask, ask_in_turns
from tipstaff.engine.policy import DEADLINE_S, Policy
from tipstaff.engine.question import Question, as_given, complete
from tipstaff.errors import ActionDenied, ContractError, DecisionError, EvidenceError
from tipstaff.ledger.clock import Clock
from tipstaff.ledger.pause import PauseSwitch
from tipstaff.ledger.trail import NewRecord, Trail
from tipstaff.pdp.client import VERDICT
from tipstaff.pdp.places import witness_folder
from tipstaff.project import Project, current_actor, new_id, timestamp

if TYPE_CHECKING:
    from tipstaff.documents.input import InputDocument

_BATCH = 50
_REMEMBERED = 1000
_CARRIED_OUT = frozenset({"allow", "require_approval"})


@dataclass(frozen=True)
class Judgement:
    """A verdict together with the very document it was given on."""

    verdict: Verdict
    question: Question


class Engine:
    """Decides for one project. Open it, ask, close it; it may be used from one thread at a time.

    ``actor`` is who is at work, if that is not whoever runs this process.
    """

    def __init__(
        self,
        project: Project,
        *,
        say: Callable[[str], None] = lambda line: None,
        deadline_s: float = DEADLINE_S,
        actor: Actor | None = None,
    ) -> None:
        self.project = project
        self.actor = actor or current_actor()
        self.policy = Policy(project, say, deadline_s)
        self.trail = Trail(project.state, witness=witness_folder())
        self._pause = PauseSwitch(project.state)
        self._clock = Clock(project.state)
        self._issued: dict[str, Judgement] = {}
        self.trail_head = "0" * 64

    @classmethod
    def open(
        cls,
        start: str | Path = ".",
        *,
        say: Callable[[str], None] = lambda line: None,
        deadline_s: float = DEADLINE_S,
    ) -> Engine:
        """An engine for the project around ``start``; the sidecar starts with the first question."""
        return cls(Project.find(start), say=say, deadline_s=deadline_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Checkpoint the trail and drop the connection; the sidecar goes on until it is idle."""
        self.policy.disconnect()
        self.trail.close()

    def decide(
        self,
        document: Mapping[str, Any] | InputDocument,
        *,
        approval: ApprovalFacts | None = None,
        preceded_by: Sequence[NewRecord] = (),
    ) -> Verdict:
        """Judge one document and record the decision; a refusal is an answer.

        ``preceded_by`` are records of what led here; they are written with an answer that is carried out. Raises
        ``ContractError`` where the document has not the shape of its kind; nothing is asked or written then.
        """
        question = self.question(document, approval=approval)
        return self._record([(self.judge(question), question)], preceded_by)[0]

    def decide_many(self, documents: Sequence[Mapping[str, Any] | InputDocument]) -> list[Verdict]:
        """Judge many documents in as few round trips as may be; records them as groups, in order.

        Raises ``ContractError`` where there is none (``batch.empty``), since all of nothing is allowed, and where one
        has not the shape of its kind; nothing is asked or written then.
        """
        if not documents:
            raise ContractError("batch.empty", "there is no document to judge", fix="give one")
        given = [_parsed(document) for document in documents]
        batches = (
            self._complete_all(given[start : start + _BATCH])
            for start in range(0, len(given), _BATCH)
        )
        verdicts: list[Verdict] = []
        for questions, results in ask_in_turns(self.policy, batches):
            judged = self._judge_many(questions, results)
            verdicts += self._record(list(zip(judged, questions, strict=True)), ())
        return verdicts

    def evaluate(
        self, documents: Sequence[Mapping[str, Any] | InputDocument], *, replay: bool = False
    ) -> list[Verdict]:
        """Answers without a record, which nothing can be carried out on.

        With ``replay`` each document's own context is used. Raises ``DecisionError`` where there is no answer.
        """
        given = [_parsed(document) for document in documents]
        questions = [as_given(item) for item in given] if replay else self._complete_all(given)
        results, version = ask(self.policy.client(), questions)
        return [
            answer.check(result, question, version)
            for result, question in zip(results, questions, strict=True)
        ]

    def question(
        self,
        document: Mapping[str, Any] | InputDocument,
        *,
        approval: ApprovalFacts | None = None,
    ) -> Question:
        """The complete document that ``decide`` would ask about now; nothing is asked or recorded."""
        return self._complete(_parsed(document), approval)

    def judge(self, question: Question) -> Verdict:
        """The checked answer to a question, or the refusal in its place; not recorded, so nothing follows from it."""
        try:
            answered = self.policy.client().ask(VERDICT, b'{"input":' + question.body + b"}")
            return answer.check(answered.result, question, answered.opa_version)
        except DecisionError as error:
            self.policy.disconnect()
            return answer.refuse(error, question, self._revision(question))

    def redeem(self, verdict: Verdict) -> Judgement:
        """Hand over, once, what a verdict of this engine was given on, so that it is carried out and nothing else.

        Raises ``ActionDenied`` for a verdict that this engine did not give, that was redeemed before, that refuses,
        or that comes from another policy than the current one.
        """
        given = isinstance(verdict, Verdict)
        judgement = self._issued.pop(verdict.decision_id, None) if given else None
        if judgement is None or judgement.verdict is not verdict:
            raise _denied("enforce.unjudged", "this verdict was not given here, or was used")
        if verdict.effect not in _CARRIED_OUT:
            raise _denied("enforce.refused", f"the verdict is {verdict.effect}")
        if judgement.question.document["context"]["bundles"] != self.policy.revisions():
            raise _denied("enforce.revision", "the verdict is of another policy revision")
        return judgement

    def _judge_many(
        self, questions: list[Question], answers: Callable[[], Results]
    ) -> list[Verdict]:
        try:
            results, version = answers()
        except DecisionError as error:
            return [answer.refuse(error, item, self._revision(item)) for item in questions]
        verdicts = []
        for result, question in zip(results, questions, strict=True):
            try:
                verdicts.append(answer.check(result, question, version))
            except DecisionError as error:
                verdicts.append(answer.refuse(error, question, self._revision(question)))
        return verdicts

    def _complete_all(self, documents: Sequence[InputDocument]) -> list[Question]:
        """Questions that are asked together, all of the policy that holds now."""
        revisions = self._revisions()
        return [self._complete(document, None, revisions) for document in documents]

    def _revisions(self) -> dict[str, str | None]:
        self.project = self.policy.project = self.project.current()
        try:
            return self.policy.revisions()
        except DecisionError:
            # The same error comes again when the question is asked, and becomes the verdict there.
            return {"tipstaff": "", "org": None}

    def _complete(
        self,
        document: InputDocument,
        approval: ApprovalFacts | None,
        revisions: dict[str, str | None] | None = None,
    ) -> Question:
        bundles = revisions or self._revisions()
        pause = self._pause.read(document.subject.id)
        context: Json = {
            "decision_id": new_id(),
            "now": timestamp(),
            "latest": self._clock.latest() if self.policy.holds_marks else None,
            "actor": self.actor.model_dump(),
            "pause": pause.model_dump(by_alias=True),
            "config": self._config(),
            "bundles": bundles,
            "has_overlay": self.policy.has_overlay(),
            "approval": approval.model_dump(by_alias=True) if approval else None,
        }
        return complete(document, context)

    def _config(self) -> Json:
        team, local = self.project.team, self.project.local
        return {
            "team": team.value if team else None,
            "team_sha256": team.sha256 if team else None,
            "local": local.value if local else None,
            "local_sha256": local.sha256 if local else None,
            "local_tracked": self.project.local_tracked,
        }

    def keep_time(self) -> None:
        """Let the clock not be set back behind now, where nothing is recorded that would see to it.

        Raises ``EvidenceError`` (``trail.unwritable``).
        """
        self._clock.advance(timestamp())

    def _record(
        self, judged: list[tuple[Verdict, Question]], preceded_by: Sequence[NewRecord]
    ) -> list[Verdict]:
        records: list[NewRecord] = []
        for verdict, question in judged:
            if verdict.effect in _CARRIED_OUT:
                records += [replace(step, decision_id=verdict.decision_id) for step in preceded_by]
            records.append(record.decision(verdict, question, self.actor))
            records += record.clamps(verdict, question, self.actor)
        try:
            self.trail_head = self.trail.append(*records)[-1].hash
            self._clock.advance(max(item.document["context"]["now"] for _, item in judged))
        except EvidenceError as error:
            return [
                answer.unpersisted(error, question, self._revision(question))
                for _, question in judged
            ]
        for verdict, question in judged:
            self._issued[verdict.decision_id] = Judgement(verdict, question)
        while len(self._issued) > _REMEMBERED:
            del self._issued[next(iter(self._issued))]
        return [verdict for verdict, _ in judged]

    @staticmethod
    def _revision(question: Question) -> str:
        return str(question.document["context"]["bundles"]["tipstaff"])


def _parsed(document: Mapping[str, Any] | InputDocument) -> InputDocument:
    if isinstance(document, Contract):
        return document
    from tipstaff.documents.input import parse_input

    return parse_input(dict(document) if isinstance(document, Mapping) else document)


def _denied(code: str, message: str) -> ActionDenied:
    return ActionDenied(code, message, fix="ask the engine again and carry out what it answers")

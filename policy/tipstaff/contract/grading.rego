package tipstaff.contract

# METADATA
# title: The grade of each change
# description: |
#   Severity and authority, in the order of the changes. The first case of its kind whose facts a change has says them;
#   a change of a kind that has none is graded as the worst.
grades := [_grade(change) | some change in input.evidence.changes]

_grade(change) := object.filter(first, ["severity", "authority"]) if {
	first := _cases(change)[0]
} else := data.tipstaff.contract.ungraded

_cases(change) := [case |
	some case in object.get(data.tipstaff.contract.cases, change.kind, [])
	_has(change, case["if"])
]

# Every fact that is asked for is one of those listed, or shares one with them.
_has(change, wanted) if {
	every name, listed in wanted {
		_among(object.get(change, name, null), listed)
	}
}

_among(value, listed) if value in listed

_among(values, listed) if {
	is_array(values)
	some value in values
	value in listed
}

# METADATA
# title: Declared versions that lie
# description: |
#   A version that a server or a tool declares is compared as well. It lies where it moves less than what changed asks
#   for; `place` is its place among the versions of the input. What the structures say stands whatever it declares.
lies := [object.union({"place": place}, data.tipstaff.contract.lie) |
	some place, version in object.get(input.evidence, "versions", [])
	_lies(version)
]

_lies(version) if {
	some place, change in input.evidence.changes
	_is_of(change, version)
	not _means_the_same(change)
	not _is_the_version(change)
	graded := grades[place].severity
	not _covers(version, graded)
}

_means_the_same(change) if change.kind in data.tipstaff.contract.same_meaning

_is_the_version(change) if change.about == "version"

_covers(version, graded) if graded in data.tipstaff.contract.version_covers[version.bump]

_is_of(_, version) if is_null(version.tool)

_is_of(change, version) if change.tool == version.tool

_is_of(change, version) if version.tool in change.tools

# METADATA
# title: The severity of the whole
# description: The highest of all changes and lies; `none` where nothing changed.
severity := data.tipstaff.contract.severities[max(_ranks | {0})]

_ranks := {_rank(grade.severity) | some grade in array.concat(grades, lies)}

_rank(word) := [place | some place, severity in data.tipstaff.contract.severities; severity == word][0]

# METADATA
# title: Whether the contract means another thing
default drift := false

drift if {
	some change in input.evidence.changes
	not _means_the_same(change)
}

# METADATA
# title: The class of the change that would take this up
default change_class := null

change_class := data.tipstaff.contract.classes[severity]

change_class := data.tipstaff.contract.first_class if {
	severity == "none"
	input.evidence.status in data.tipstaff.contract.statuses.first_sight
}

# METADATA
# title: Whether a class of change stands for drift of a severity
covers(_, "none")

covers(class, graded) if {
	some claimed, listed in data.tipstaff.contract.classes
	listed == class
	_rank(claimed) >= _rank(graded)
}

# METADATA
# title: Whether a finding is one that the caller asked to fail on
default fails := false

fails if {
	some grade in array.concat(grades, lies)
	_fails(grade)
}

# A check fails for want of a baseline, too.
fails if {
	input.action.type in data.tipstaff.contract.held_to_a_baseline
	some group in data.tipstaff.contract.failing
	input.evidence.status in data.tipstaff.contract.statuses[group]
}

_fails(grade) if _rank(grade.severity) >= _rank(input.action.fail_on)

_fails(grade) if grade.authority == input.action.fail_on_authority

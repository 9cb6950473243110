# METADATA
# title: Conventions
# description: |
#   What the source of a policy keeps beyond being valid Rego, judged by `tipstaff policy check`. The input is what OPA
#   says of a folder: the syntax trees (`opa parse`), the annotations (`opa inspect`), the complaints of `opa check`, and
#   which files `opa fmt` would change. In a tree, `row` stands for a location.
package tipstaff.conventions

import data.tipstaff.reasons

# METADATA
# title: What was found
# description: |
#   The findings by file, line and code, and how much was looked at: a folder without a single rule keeps every
#   convention, and that is no good news.
report := {
	"findings": [entry[3] |
		some entry in sort([[found.file, found.line, found.code, found] | some found in findings])
	],
	"checked": {"files": count(input.files), "rules": count(_rules)},
}

_is_overlay if input.root == data.tipstaff.conventions.overlay_root

_sources := [source |
	some file in input.files
	source := object.union(file, {
		"package": [part.value | some part in _rest(file.tree.package.path)],
		"rules": object.get(file.tree, "rules", []),
		"path": concat(".", [part.value | some part in _rest(file.tree.package.path)]),
		"row": file.tree.package.row,
		"is_test": endswith(file.file, "_test.rego"),
	})
]

_live := [source | some source in _sources; source.is_test == false]

_rules := [place |
	some source in _live
	some rule in source.rules
	place := _place(source, rule)
]

_place(source, rule) := {
	"file": source.file,
	"row": rule.row,
	"package": source.package,
	"name": name,
	"path": concat(".", array.concat(source.package, [name])),
	"rule": rule,
} if {
	parts := rule.head.ref
	more := [part.value | some part in _rest(parts); part.type == "string"]
	name := concat(".", array.concat([parts[0].value], more))
}

_spot(place) := object.filter(place, ["file", "row", "path"])

# A reason is made where it is written down or taken from an annotation; a rule that hands on what another made only
# repeats it.
_gives_reason(place) if {
	place.name in data.tipstaff.conventions.reasons
	kind := place.rule.head.key.type
	not kind in {"var", "call"}
}

_gives_reason(place) if {
	place.name in data.tipstaff.conventions.reasons
	_makes(place.rule.head.key.value[0])
}

_makes(_) if _is_overlay

_makes(operator) if startswith(_called(operator), "reasons.")

_called(operator) := concat(".", [sprintf("%v", [part.value]) | some part in operator.value])

_finding(chain, place, it) := object.union(
	object.filter(reasons.on(chain, it), ["code", "message", "solution"]),
	{
		"severity": object.get(chain[0].annotations.custom, "severity", "error"),
		"file": place.file,
		"line": place.row,
		"rule": place.path,
	},
)

package tipstaff.contract_test

import data.tipstaff.contract
import data.tipstaff.testing

_with(changes) := testing.with_facts(testing.contract, {"/evidence/changes": changes})

_change(kind, facts) := object.union({"kind": kind, "tool": "a", "path": "/x"}, facts)

_graded(kind, facts) := [grade.severity, grade.authority] if {
	[grade] := contract.grades with input as _with([_change(kind, facts)])
		with data.tipstaff.contract.ungraded as {"severity": "ungraded", "authority": "ungraded"}
}

# METADATA
# custom:
#   req: [C-05, C-06, C-07, C-08, C-09, C-10, C-12, C-13]
test_each_kind_has_its_grade if {
	every kind, grade in {
		"tool_added": ["info", "widens"],
		"tool_removed": ["error", "narrows"],
		"tool_renamed": ["error", "none"],
		"param_added_optional": ["info", "widens"],
		"param_added_required": ["error", "widens"],
		"param_removed": ["error", "narrows"],
		"param_renamed": ["error", "none"],
		"required_added": ["error", "narrows"],
		"required_removed": ["info", "widens"],
		"type_changed": ["error", "widens"],
		"constraint_tightened": ["error", "widens"],
		"constraint_loosened": ["info", "widens"],
		"default_changed": ["warning", "none"],
		"description_changed": ["warning", "none"],
		"title_changed": ["warning", "none"],
		"annotation_changed": ["warning", "none"],
		"output_changed": ["error", "widens"],
		"prompt_changed": ["error", "widens"],
		"resource_changed": ["error", "widens"],
		"server_changed": ["warning", "none"],
		"name_duplicate": ["error", "widens"],
		"name_shadowed": ["error", "widens"],
		"name_confusable": ["error", "widens"],
		"hidden_text": ["warning", "none"],
		"behaviour_changed": ["warning", "none"],
		"canary_unstable": ["warning", "none"],
		"equivalent_rewrite": ["info", "none"],
	} {
		_graded(kind, {}) == grade
	}
}

test_kind_that_nobody_graded_is_the_worst if {
	_graded("something_new", {}) == ["ungraded", "ungraded"]
	contract.grades == [{"severity": "error", "authority": "widens"}] with input as _with([_change("something_new", {})])
}

# METADATA
# custom:
#   req: [C-10, C-11]
test_direction_grades_what_may_be_sent_and_received if {
	every case in [
		["type_changed", "narrows", ["error", "narrows"]],
		["type_changed", "widens", ["error", "widens"]],
		["type_changed", {"x": "narrows"}, ["error", "widens"]],
		["constraint_tightened", "narrows", ["error", "narrows"]],
		["constraint_tightened", "unknown", ["error", "widens"]],
		["output_changed", "narrows", ["info", "narrows"]],
		["output_changed", "widens", ["error", "widens"]],
		["output_changed", "unknown", ["error", "widens"]],
		["output_changed", "none", ["warning", "none"]],
		["prompt_changed", "widens", ["info", "widens"]],
		["prompt_changed", "narrows", ["error", "narrows"]],
		["prompt_changed", "none", ["warning", "none"]],
		["prompt_changed", "unknown", ["error", "widens"]],
		["resource_changed", "widens", ["info", "widens"]],
		["resource_changed", "narrows", ["error", "narrows"]],
		["resource_changed", "none", ["warning", "none"]],
		["resource_changed", "unknown", ["error", "widens"]],
	] {
		[kind, direction, grade] := case
		_graded(kind, {"direction": direction}) == grade
	}
}

# METADATA
# custom:
#   promise: ["BR-09", "row 113"]
test_hint_that_lowers_caution_widens_authority if {
	every hint, lowering in {"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false, "openWorldHint": false} {
		_graded("annotation_changed", {"hint": hint, "now": lowering}) == ["warning", "widens"]
		_graded("annotation_changed", {"hint": hint, "now": lowering == false}) == ["info", "narrows"]
	}
}

test_labels_that_nobody_acts_on_are_low if {
	every about in ["_meta", "icons", "version"] {
		_graded("annotation_changed", {"about": about}) == ["info", "none"]
	}
	_graded("annotation_changed", {"about": "unknown"}) == ["warning", "none"]
}

test_server_is_graded_by_what_of_it_changed if {
	every case in [
		["serverInfo.version", "changed", ["info", "none"]],
		["protocolVersion", "changed", ["info", "none"]],
		["source.dependencies", "changed", ["info", "none"]],
		["capabilities", "added", ["info", "widens"]],
		["capabilities", "changed", ["info", "none"]],
		["capabilities", "removed", ["warning", "none"]],
		["source.command", "changed", ["error", "widens"]],
		["source.executable_sha256", "changed", ["error", "widens"]],
		["source.url", "changed", ["error", "widens"]],
		["source.command", "added", ["warning", "none"]],
		["unknown", "changed", ["error", "widens"]],
		["instructions", "changed", ["warning", "none"]],
	] {
		[about, verb, grade] := case
		_graded("server_changed", {"about": about, "verb": verb}) == grade
	}
}

# METADATA
# custom:
#   promise: ["BR-06", "row 112"]
test_hidden_text_is_graded_by_where_and_what_it_is if {
	every class in ["bidi", "control", "format", "line", "private_use", "tag", "unassigned", "zero_width"] {
		_graded("hidden_text", {"place": "text", "classes": ["comment", class]}) == ["error", "none"]
	}
	every class in ["variation", "comment", "encoded", "blank"] {
		_graded("hidden_text", {"place": "text", "classes": [class]}) == ["warning", "none"]
		_graded("hidden_text", {"place": "name", "classes": [class]}) == ["error", "none"]
	}
}

# METADATA
# custom:
#   req: [C-05]
test_severity_is_the_highest_and_gives_the_class if {
	every case in [
		[[], "none", null],
		[["equivalent_rewrite"], "info", "heal_additive"],
		[["tool_added"], "info", "heal_additive"],
		[["description_changed", "tool_added"], "warning", "heal_warning"],
		[["tool_added", "tool_removed", "description_changed"], "error", "heal_breaking"],
	] {
		[kinds, severity, class] := case
		document := _with([_change(kind, {}) | some kind in kinds])
		[contract.severity, contract.change_class] == [severity, class] with input as document
	}
}

# METADATA
# custom:
#   promise: ["BR-07"]
test_what_means_the_same_is_no_drift if {
	every kinds, drift in {[]: false, ["equivalent_rewrite"]: false, ["tool_added"]: true, ["equivalent_rewrite", "title_changed"]: true} {
		contract.drift == drift with input as _with([_change(kind, {}) | some kind in kinds])
	}
}

# METADATA
# custom:
#   req: [C-22]
test_caller_says_what_fails if {
	every case in [
		["error", null, "description_changed", false],
		["warning", null, "description_changed", true],
		["error", null, "tool_removed", true],
		["info", null, "equivalent_rewrite", true],
		["warning", null, "tool_added", false],
		["error", "widens", "tool_added", true],
		["error", "widens", "equivalent_rewrite", false],
		["error", "narrows", "tool_added", false],
		[null, null, "tool_removed", false],
		["sometimes", null, "tool_removed", false],
	] {
		[fail_on, authority, kind, fails] := case
		document := testing.with_facts(_with([_change(kind, {})]), {
			"/action/fail_on": fail_on,
			"/action/fail_on_authority": authority,
		})
		contract.fails == fails with input as document
	}
}

_version(tool, bump) := {"tool": tool, "before": "1.0.0", "after": "1.0.1", "bump": bump}

_lie(changes, version) := [lie.place | some lie in lies] if {
	lies := contract.lies with input as testing.with_facts(_with(changes), {"/evidence/versions": [version]})
}

# METADATA
# custom:
#   req: [C-21, KG-05]
test_version_that_moves_less_than_the_contract_lies if {
	every case in [
		["none", "tool_added", true], ["none", "tool_removed", true], ["none", "equivalent_rewrite", false],
		["patch", "tool_added", false], ["patch", "description_changed", false], ["patch", "tool_removed", true],
		["minor", "tool_added", false], ["minor", "description_changed", false], ["minor", "tool_removed", true],
		["major", "tool_added", false], ["major", "description_changed", false], ["major", "tool_removed", false],
		["down", "tool_added", true], ["down", "description_changed", true],
		["other", "tool_added", false], ["other", "description_changed", false], ["other", "tool_removed", false],
		["odd", "tool_added", true],
	] {
		[bump, kind, lies] := case
		count(_lie([_change(kind, {})], _version(null, bump))) == count([1 | lies])
	}
	_lie([_change("annotation_changed", {"about": "version"})], _version("a", "none")) == []
}

test_one_change_that_a_version_does_not_cover_is_a_lie if {
	_lie([_change("tool_added", {}), _change("tool_removed", {})], _version(null, "minor")) == [0]
}

test_version_of_a_tool_is_held_against_that_tool if {
	_lie([_change("type_changed", {})], _version("a", "patch")) == [0]
	_lie([_change("type_changed", {})], _version("b", "patch")) == []
	_lie([_change("type_changed", {"tool": null, "tools": ["b", "c"]})], _version("b", "patch")) == [0]
	_lie([_change("type_changed", {"tool": null, "tools": ["c"]})], _version("b", "patch")) == []
}

# METADATA
# custom:
#   req: [C-21]
test_lie_is_an_error_beside_what_the_structure_says if {
	document := testing.with_facts(_with([_change("tool_added", {})]), {"/evidence/versions": [_version(null, "none")]})
	contract.lies == [{"place": 0, "severity": "error", "authority": "none"}] with input as document
	[contract.severity, contract.fails] == ["error", true] with input as document
	contract.lies == [] with input as testing.without(testing.contract, ["/evidence/versions"])
}

package tipstaff.paths_test

import data.tipstaff.paths
import data.tipstaff.testing

_codes(path, team, local) := codes if {
	codes := testing.codes(paths.deny) with input as testing.with_facts(
		testing.change_under(team, local),
		{"/resource/files": [testing.file("a.md"), testing.file(path)]},
	)
}

test_both_names_of_a_file_are_touched if {
	files := [testing.file("new"), object.union(testing.file("moved"), {"status": "renamed", "old_path": "before"})]
	paths.touched == {"new", "moved", "before"} with input as testing.change_with({"/resource/files": files})
}

test_old_name_is_judged_like_a_new_one if {
	files := [object.union(testing.file("docs/x.rego"), {"status": "renamed", "old_path": "policy/x.rego"})]
	codes := testing.codes(paths.deny) with input as testing.change_with({"/resource/files": files})
	codes == {"path.control_plane"}
}

test_plain_path_is_not_refused if {
	every path in ["a", "skills/x/SKILL.md", "src/policy/x.py", "docs/日本.md", ".hidden/a", "a b/c", "x/CODEOWNERS", "..a/b"] {
		_codes(path, null, null) == set()
	}
}

# METADATA
# custom:
#   req: [G-06]
test_vendored_path_is_read_only_unless_the_team_says if {
	every path in [
		"vendor/x",
		"a/vendor/b/c",
		"skills/vendor/a/SKILL.md",
		"a/vendor",
		"vendor",
		"Vendor/x",
		"a/VENDOR/x",
	] {
		every team in [null, {}, {"paths": null}, {"paths": {"read_only": null}}, {"paths": {"allowed": ["**"]}}] {
			_codes(path, team, null) == {"path.read_only"}
		}
		_codes(path, {"paths": {"read_only": []}}, null) == set()
	}
	every path in ["avendor/x", "vendors/x", "a/vendor.md", "ven/dor"] {
		_codes(path, null, null) == set()
	}
}

# METADATA
# custom:
#   req: [T-11]
test_local_read_only_paths_are_added if {
	every path in ["a/vendor/x", "docs/x"] {
		_codes(path, null, {"paths": {"read_only": ["docs/**"]}}) == {"path.read_only"}
	}
	_codes("Docs/X", {"paths": {"read_only": ["DOCS/**"]}}, null) == {"path.read_only"}
	_codes("a/vendor/x", null, {"paths": {"read_only": []}}) == {"path.read_only"}
}

# METADATA
# custom:
#   req: [G-06]
test_path_must_match_an_allowed_glob if {
	every case in [
		["skills/SKILL.md", set()],
		["skills/a/SKILL.md", set()],
		["skills/a/b/SKILL.md", set()],
		["skills/aSKILL.md", {"path.not_allowed"}],
		["Skills/SKILL.md", {"path.not_allowed"}],
		["skills/a/SKILL.md.py", {"path.not_allowed"}],
		["other", {"path.not_allowed"}],
		["skills/vendor/a/SKILL.md", {"path.read_only"}],
	] {
		[path, codes] := case
		_codes(path, {"paths": {"allowed": ["a.md", "skills/**/SKILL.md"]}}, null) == codes
	}
	_codes("a", {"paths": {"allowed": []}}, null) == {"path.not_allowed"}
	_codes("a", {"paths": {"allowed": null}}, null) == set()
}

# METADATA
# custom:
#   req: [T-11]
test_path_must_match_both_files if {
	local := {"paths": {"allowed": ["a.md", "docs/**"]}}
	_codes("docs/x", null, local) == set()
	_codes("src/x", null, local) == {"path.not_allowed"}
	_codes("docs/x", {"paths": {"allowed": ["a.md", "src/**"]}}, local) == {"path.not_allowed"}
	_codes("src/x", {"paths": {"allowed": ["a.md", "src/**"]}}, {"paths": {"allowed": null}}) == set()
}

test_globs_match_folders_of_any_depth if {
	every case in [
		["**", "a/b/c", true],
		["*", "a", true],
		["*", "a/b", false],
		["*.md", "a.md", true],
		["*.md", "a/b.md", false],
		["**/*.md", "a.md", true],
		["**/*.md", "a/b/c.md", true],
		["a/**", "a", false],
		["a/**", "ab/c", false],
		["a/**/b/**/c/**/d", "a/b/c/d", true],
		["a/**/b/**/c/**/d", "a/b/c/x/d", true],
		["a/**/b/**/c/**/d", "a/x/b/c/d", true],
		["a/**/b/**/c/**/d", "a/x/y/b/z/c/q/d", true],
		["a/**/b/**/c/**/d", "a/xb/c/d", false],
		["**/**/x", "x", true],
		["a**/b", "ab", false],
		["{a,b}/**/c", "b/c", true],
		["[ab]/?", "a/x", true],
		["[!a]/x", "a/x", false],
		["a\\*b", "a*b", true],
		["a\\*b", "axb", false],
		["a", "a\nb", false],
		["a*", "a[b]{c}", true],
	] {
		[pattern, path, matched] := case
		got := [1 | paths.matches(pattern, path)]
		count(got) == count([1 | matched])
	}
}

test_protected_names_are_folded if {
	every case in [["POLICY", "policy"], ["ſandbox", "sandbox"], ["tipsta\ufb00", "tipstaff"], ["\ufb01\ufb02", "fifl"], ["\ufb03\ufb04", "ffiffl"], ["\ufb05\ufb06", "stst"], ["straße", "strasse"], ["日本", "日本"]] {
		[text, folded] := case
		paths.folded(text) == folded
	}
}

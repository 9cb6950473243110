package tipstaff.paths_test

import data.tipstaff.paths
import data.tipstaff.testing

# METADATA
# custom:
#   req: [G-07]
test_what_judges_changes_is_refused if {
	every path in [
		"policy/tiers.rego",
		"policy.tar.gz",
		"Policy.tar.GZ",
		"policy",
		"Policy/x",
		"POLICY",
		"tipstaff.yaml",
		"sub/tipstaff.yaml",
		"TipStaff.YAML",
		"tipsta\ufb00.yaml",
		"tipstaff.local.yaml",
		".tipstaff/ledger.db",
		"sub/.tipstaff/x",
		".tipstaff",
		".git/hooks/x",
		"a/.GIT/config",
		".github/workflows/ci.yml",
		".github",
		".gitlab-ci.yml",
		".gitlab/CODEOWNERS",
		".circleci/config.yml",
		".buildkite/x",
		".ci/run",
		".gitea/workflows/ci.yml",
		".forgejo/workflows/ci.yml",
		".travis.yml",
		".woodpecker",
		".woodpecker.yml",
		".woodpecker.yaml",
		".drone.yml",
		".cirrus.yml",
		".cirrus.star",
		".appveyor.yml",
		"appveyor.yml",
		".semaphore",
		".teamcity",
		".tekton",
		".azure-pipelines",
		"azure-pipelines",
		"azure-pipelines.yaml",
		"buildspec.yml",
		"cloudbuild.yaml",
		"cloudbuild.yml",
		"Jenkinsfile",
		"azure-pipelines.yml",
		"bitbucket-pipelines.yml",
		"sandbox/profiles/dev.yaml",
		"sandbox/probes/p.py",
		"ſandbox/probes/p.py",
		"CODEOWNERS",
		"docs/CODEOWNERS",
		"docs/codeowners",
		".gitattributes",
		"a/.gitattributes",
		".gitmodules",
		".pre-commit-config.yaml",
		".husky/pre-commit",
		".envrc",
		".mcp.json",
		".claude/settings.json",
		".cursor/rules/x",
		".vscode/tasks.json",
		".devcontainer/devcontainer.json",
	] {
		_codes(path, null, null) == {"path.control_plane"}
	}
}

# METADATA
# custom:
#   req: [G-07]
test_folder_above_what_judges_is_refused if {
	every path in ["sandbox", "docs", "Docs"] {
		_codes(path, null, null) == {"path.control_plane"}
	}
}

test_names_that_only_resemble_are_not_refused if {
	every path in ["policyx/a", "policy.tar", "docs/a", "sandbox/a", "src/Jenkinsfile", "tipstaff.yaml.md", "a/github/x", "codeowners.md", ".githubx/a", "policy~/x", "tipstaff.yaml~", "~tipstaff.yaml", "docs/codeowners.md"] {
		_codes(path, null, null) == set()
	}
}

# METADATA
# custom:
#   req: [G-07]
test_overlay_folder_is_refused_however_spelt if {
	every overlay in ["rules/team", "./rules/team", "rules/team/", "rules//team", "Rules/Team", "./rules/./team//"] {
		team := {"policy": {"overlay": overlay}}
		every path in ["rules/team/x.rego", "rules/team", "rules", "RULES/team/x", "rules/team.tar.gz"] {
			_codes(path, team, null) == {"path.control_plane"}
		}
		_codes("rules/other", team, null) == set()
		_codes("policy/x", team, null) == {"path.control_plane"}
	}
	_codes("a[b]/x", {"policy": {"overlay": "a[b]"}}, null) == {"path.control_plane"}
}

test_overlay_without_a_name_protects_nothing_more if {
	every overlay in [".", "./", "", null, 5, ["a"]] {
		_codes("src/x", {"policy": {"overlay": overlay}}, null) == set()
	}
}

test_path_that_is_not_plain_is_refused if {
	every path in [
		"",
		"/etc/passwd",
		"a//b",
		"a/",
		"./a",
		"a/./b",
		"a/../b",
		"..",
		".",
		"a\u0000b",
		"a\u200bb",
		".git\u200chub/workflows/x",
		"a\u202eb",
		"a\u2028b",
		"a\\b",
		"a/b ",
		"a/b.",
		"a./b",
		"%2e%2e/b",
		"a%2Fb",
		"a%5cb",
	] {
		_codes(path, null, null) == {"path.unclear"}
	}
}

test_odd_but_visible_name_is_plain if {
	every path in ["a\nb", "a\tb", "a b", "a.b/c", "...a", " a", "a%20b", "100%", "a\"b", "\u0061\u0308"] {
		_codes(path, null, null) == set()
	}
}

# METADATA
# custom:
#   req: [G-07]
test_name_that_some_system_reads_as_protected_is_refused if {
	every path in ["policy /x", "policy./x", "policy\\x", "sub\\tipstaff.yaml", "tipstaff.yaml.", ".GITHUB. /x"] {
		_codes(path, null, null) == {"path.control_plane", "path.unclear"}
	}
}

test_refusals_name_the_path if {
	files := [testing.file("policy/x"), testing.file(".ci/y")]
	messages := {reason.message | some reason in paths.deny} with input as testing.change_with({"/resource/files": files})
	messages == {
		"policy/x judges changes or starts by itself, and no proposal may touch it",
		".ci/y judges changes or starts by itself, and no proposal may touch it",
	}
}

# METADATA
# title: Owned folders
# description: What lies in a team's folder is changed by its people, or with their approval.
# schemas:
#   - input: schema["change.schema"]
package org.owners

# METADATA
# title: Folders and the people of the team that owns each
folders := {"billing/": {"alice", "bob"}}

# METADATA
# title: Somebody else's folder
# description: A file that lies, or lay, in an owned folder is changed for somebody who is not of its team.
# custom:
#   code: org.owners
#   message: the change touches a folder of another team
#   solution: have one of the team's people approve it; policy/org/owners/owners.rego names them
require_approval contains object.union(rego.metadata.rule().custom, {"message": message}) if {
	input.kind == "change"
	some file in input.resource.files
	some path in [file.path, file.old_path]
	is_string(path)
	some folder, people in folders
	startswith(path, folder)
	who := object.get(input, ["subject", "id"], "nobody")
	not who in people
	message := sprintf("%s belongs to %s", [folder, concat(", ", people)])
}

# METADATA
# title: Files of NAME
# description: Who is asked about changes of this part of the repository, and why.
# schemas:
#   - input: schema["change.schema"]
package org.NAME

# METADATA
# title: Change below NAME/
# description: A file of the change lies, or lay, in the folder NAME/.
# custom:
#   code: org.NAME
#   message: the change touches NAME/
#   solution: leave NAME/ out of the change, or ask those who own it
KIND contains rego.metadata.rule().custom if {
	input.kind == "change"
	some file in input.resource.files
	some path in [file.path, file.old_path]
	is_string(path)
	startswith(path, "NAME/")
}

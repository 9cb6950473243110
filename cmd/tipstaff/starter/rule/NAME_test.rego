package org.NAME_test

import data.org.NAME

_change(path, old) := {"kind": "change", "resource": {"files": [{"path": path, "old_path": old}]}}

test_change_below_the_folder_is_answered if {
	count(NAME.KIND) == 1 with input as _change("NAME/notes.md", null)
}

test_file_that_is_moved_out_is_answered if {
	count(NAME.KIND) == 1 with input as _change("notes.md", "NAME/notes.md")
}

test_change_elsewhere_is_not_answered if {
	count(NAME.KIND) == 0 with input as _change("README.md", null)
}

package tipstaff.conventions

# METADATA
# title: Not formatted
# description: The file is not as `opa fmt` writes it, so that a later change of one line changes many.
# custom:
#   code: convention.format
#   message: the file is not formatted
#   solution: "run `opa fmt --write {it}`"
findings contains _finding(rego.metadata.chain(), place, source.file) if {
	some source in _sources
	is_number(source.unformatted)
	place := object.union(source, {"row": source.unformatted})
}

# METADATA
# title: Type error
# description: |
#   A path that the schema of the input does not have, a value of another type, or a built-in that policies may not
#   use. Such an expression is undefined when it is asked, so its rule would never say anything.
# custom:
#   code: convention.type
#   message: "{it}"
#   solution: write a path that the named schema in contracts/ has, a value of its type, or a built-in that is allowed
findings contains _finding(rego.metadata.chain(), _complained(said), said.message) if {
	some said in input.complaints
	said.code == "rego_type_error"
}

# METADATA
# title: Compile error
# description: What the compiler refuses in strict mode, such as a variable or an import that nothing uses.
# custom:
#   code: convention.compile
#   message: "{it}"
#   solution: correct the named line; an unused variable or import often is a misspelt one
findings contains _finding(rego.metadata.chain(), _complained(said), said.message) if {
	some said in input.complaints
	said.code != "rego_type_error"
}

_complained(said) := object.union(said, {"path": path}) if {
	path := concat(",", {source.path | some source in _sources; source.file == said.file})
}

# METADATA
# title: Package elsewhere
# description: A package's path is its folder's; a test's ends in _test. Then a code leads to its file.
# custom:
#   code: convention.package
#   message: "the package is not that of its folder, {it}"
#   solution: "move the file, or call the package {it}; a test's package is that with _test behind it"
findings contains _finding(rego.metadata.chain(), source, folder) if {
	some source in _sources
	folder := concat(".", source.folders)
	count({source.path} & _paths(folder, source.is_test)) == 0
}

_paths(folder, false) := {folder}

_paths(folder, true) := {folder, concat("", [folder, "_test"])}

# METADATA
# title: Long file
# description: A file of rules is read as a whole, so it has one concern.
# custom:
#   code: convention.length
#   severity: warning
#   message: "the file has {it} lines"
#   solution: split it by what its rules are about
findings contains _finding(rego.metadata.chain(), object.union(source, {"row": source.lines}), source.lines) if {
	some source in _sources
	limits := {true: data.tipstaff.conventions.longest_tests, false: data.tipstaff.conventions.longest_rules}
	limit := limits[source.is_test]
	is_number(source.lines)
	source.lines > limit
}

# METADATA
# title: Input without a schema
# description: |
#   A package that reads the input names its schema, so that a misspelt path does not compile. Some of ours are excused:
#   their input is no document (pairs of verdicts, findings, a request to OPA, what was gathered about a policy), or one of
#   any kind, or one that is not what a schema says.
# custom:
#   code: convention.schema
#   message: "{it} reads the input and names no schema"
#   solution: 'write `# schemas:` and `#   - input: schema["change.schema"]` into the METADATA block of the package'
findings contains _finding(rego.metadata.chain(), source, source.path) if {
	some source in _live
	path := source.path
	not path in data.tipstaff.conventions.without_schema
	_reads_input(source)
	every note in object.get(_about, source.path, set()) { not note.schemas }
}

_reads_input(source) if {
	walk(source.rules, [_, node])
	node.type == "var"
	node.value == "input"
}

# METADATA
# title: Shapes
# description: |
#   What one value must look like. Rego compares values of different types without complaint, so a value of which
#   this is not known must not reach a comparison.
package tipstaff.shapes

# METADATA
# title: Text that shows all of itself
# description: At least one character, and none that is a control, hidden or a line's end.
is_text(value) if {
	is_string(value)
	regex.match(`^[^\p{C}\p{Zl}\p{Zp}]+$`, value)
}

# METADATA
# title: A list of counts
# description: |
#   Whole numbers from zero, written with digits only; 12.0 and 1e1 count nothing. All that a document counts is asked
#   about at once: OPA remembers what a function answered, and to it 12 and 12.0 are the same argument.
are_counts(value) if {
	regex.match(`^\[(0|[1-9][0-9]*)(,(0|[1-9][0-9]*))*\]$`, json.marshal(value))
	every count in value {
		count < 1000000000000000
	}
}

# METADATA
# title: A digest
# description: SHA-256 in lower-case hexadecimal.
is_sha256(value) if {
	is_string(value)
	regex.match(`^[0-9a-f]{64}$`, value)
}

# METADATA
# title: A point in time
# description: RFC 3339 in UTC, ending in Z, of a year from 1970 to 2199; OPA counts time in nanoseconds, which end in 2262.
is_timestamp(value) if {
	is_string(value)
	regex.match(`^(19[7-9]|2[01]\d)\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,9})?Z$`, value)
}

# METADATA
# title: A list of capability names
are_capabilities(value) if {
	is_array(value)
	every name in value {
		is_string(name)
		regex.match(`^[a-z][a-z0-9_]{0,63}$`, name)
	}
}

# METADATA
# title: A list of globs
# description: Malformed ones are found by their looks, because asking for a match with one is an error.
are_globs(value) if {
	is_array(value)
	every glob in value {
		is_string(glob)
		regex.match(`^([^\[\]{}\\\p{C}]|\\[\[\]{}*?]|\[!?[^\[\]{}\\\p{C}]+\]|\{[^\[\]{}\\\p{C}]+\})+$`, glob)
	}
}

# METADATA
# title: A list of texts
are_texts(value) if {
	is_array(value)
	every text in value {
		is_text(text)
	}
}

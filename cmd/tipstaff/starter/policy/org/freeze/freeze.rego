# METADATA
# title: Freeze days
# description: |
#   No change is carried out on a day of the list. The time comes from the input, so a test can choose it.
# schemas:
#   - input: schema["change.schema"]
package org.freeze

# METADATA
# title: Days of the freeze
# description: Written as 2027-01-01, in UTC.
days := set()

# METADATA
# title: Change on a freeze day
# description: The day of the decision is on the list.
# custom:
#   code: org.freeze
#   message: today is a freeze day
#   solution: propose the change after the freeze, or take the day off the list in policy/org/freeze/freeze.rego
deny contains rego.metadata.rule().custom if {
	input.kind == "change"
	substring(input.context.now, 0, 10) in days
}

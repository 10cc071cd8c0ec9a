package guard

import "regexp"

// phoneForms matches numbers with a country code, North American numbers, and Chinese mobile
// numbers. Other national forms look like any number.
var phoneForms = regexp.MustCompile(`\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){5,13}|\(\d{3}\) ?\d{3}[ ` +
	`.-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4}|1[3-9]\d{9}|1[3-9]\d[ -]\d{4}[ -]\d{4}`)

// phones finds telephone numbers with no letters or digits next to them.
func phones(text string) []window {
	var found []window
	for _, m := range phoneForms.FindAllStringIndex(text, -1) {
		before := m[0] > 0 && (digit(text[m[0]-1]) || text[m[0]-1] == '-' || wordBefore(text, m[0]))
		after := m[1] < len(text) && (digit(text[m[1]]) || text[m[1]] == '-' || wordAfter(text, m[1]))
		if !before && !after {
			found = append(found, window{m[0], m[1]})
		}
	}
	return found
}

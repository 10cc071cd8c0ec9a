package reference

import (
	"maps"
	"slices"
	"strconv"

	"cairn/internal/domain/fault"
)

// errorsPage describes the codes of errors.
func errorsPage(p *page, _ string) error {
	p.heading(1, "Errors")
	p.paragraph(
		"Each error has a code, a message and a hint. The code is the same in HTTP responses, in tool results " +
			"and in the output of `cairn`. If an error has no hint of its own, it has the hint of its code.",
	)
	p.paragraph("An HTTP response has the status of its code. A command ends with the exit code. If a code is " +
		"retryable, the same request can succeed later.")
	var rows [][]string
	for _, code := range slices.Sorted(maps.Keys(fault.Table)) {
		row := fault.Table[code]
		retryable := "no"
		if row.Retryable {
			retryable = "yes"
		}
		rows = append(rows, []string{quoted(string(code)), strconv.Itoa(row.HTTP), strconv.Itoa(row.Exit), retryable,
			row.Hint})
	}
	p.table([]string{"Code", "HTTP status", "Exit code", "Retryable", "Hint"}, rows)
	return nil
}

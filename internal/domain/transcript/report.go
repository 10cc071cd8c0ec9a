package transcript

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ImportReport states what an input held, what was kept, and what was not.
type ImportReport struct {
	Format  string `json:"format"`
	Version string `json:"version,omitempty"` // of the program that wrote the file
	Reason  string `json:"reason,omitempty"`  // why the format was chosen

	Conversations int `json:"conversations"`
	Messages      int `json:"messages"`
	Calls         int `json:"calls"`
	Answered      int `json:"answered"`            // calls with a result
	Orphans       int `json:"orphans,omitempty"`   // results without a call
	Errors        int `json:"errors,omitempty"`    // results that are errors
	Reasoning     int `json:"reasoning,omitempty"` // messages with reasoning, which is stored and never sent to a model

	Skipped  map[string]int `json:"skipped,omitempty"`  // records and parts that are not messages, by kind
	Unknown  map[string]int `json:"unknown,omitempty"`  // records and parts of unknown kinds, kept as JSON text
	Warnings []string       `json:"warnings,omitempty"` // damage that was not refused

	Parts int `json:"-"` // records and parts of all kinds, for the share of unknown ones
}

// MaxUnknown is the share of unknown parts, in percent, above which an input is refused.
const MaxUnknown = 5

// AllUnknown returns the number of unknown parts.
func (r *ImportReport) AllUnknown() (total int) {
	for _, n := range r.Unknown {
		total += n
	}
	return total
}

// Skip counts records or parts that are not messages.
func (r *ImportReport) Skip(kind string, n int) {
	increase(&r.Skipped, kind, n)
	r.Parts += n
}

// AddUnknown counts a record or part of an unknown kind.
func (r *ImportReport) AddUnknown(kind string) {
	increase(&r.Unknown, kind, 1)
	r.Parts++
}

// UnknownKinds lists the kinds of unknown parts with their numbers, the most frequent first.
func (r *ImportReport) UnknownKinds() string { return tally(r.Unknown) }

// maxWarnings bounds the warnings of a report.
const maxWarnings = 20

// Warn adds a warning, unless there are many.
func (r *ImportReport) Warn(format string, args ...any) {
	if len(r.Warnings) < maxWarnings {
		r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
	}
}

// Add adds the counts of another input of the same import.
func (r *ImportReport) Add(other ImportReport) {
	if r.Format == "" {
		r.Format, r.Version, r.Reason = other.Format, other.Version, other.Reason
	} else if r.Format != other.Format {
		r.Format, r.Version, r.Reason = "several formats", "", ""
	}
	r.Conversations += other.Conversations
	r.Messages += other.Messages
	r.Calls += other.Calls
	r.Answered += other.Answered
	r.Orphans += other.Orphans
	r.Errors += other.Errors
	r.Reasoning += other.Reasoning
	for kind, n := range other.Skipped {
		increase(&r.Skipped, kind, n)
	}
	for kind, n := range other.Unknown {
		increase(&r.Unknown, kind, n)
	}
	r.Warnings = append(r.Warnings, other.Warnings...)
	r.Parts += other.Parts
}

func increase(counts *map[string]int, kind string, n int) {
	if n == 0 {
		return
	}
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[kind] += n
}

// String returns the report as one line, and a line for each warning.
func (r ImportReport) String() string {
	parts := []string{strings.TrimSpace(r.Format + " " + r.Version), plural(r.Conversations, "conversation"),
		plural(r.Messages, "message"), fmt.Sprintf("%s, %d answered", plural(r.Calls, "call"), r.Answered)}
	if r.Errors > 0 {
		parts = append(parts, plural(r.Errors, "error result"))
	}
	if r.Orphans > 0 {
		parts = append(parts, plural(r.Orphans, "result")+" without a call")
	}
	if r.Reasoning > 0 {
		parts = append(parts, fmt.Sprintf("apart: %d reasoning", r.Reasoning))
	}
	for _, c := range []struct {
		name   string
		counts map[string]int
	}{{"skipped", r.Skipped}, {"unknown", r.Unknown}} {
		if len(c.counts) > 0 {
			parts = append(parts, c.name+": "+tally(c.counts))
		}
	}
	line := strings.Join(parts, " · ")
	for _, warning := range r.Warnings {
		line += "\nwarning: " + warning
	}
	return line
}

// tally lists counts, the largest first.
func tally(counts map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", counts[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

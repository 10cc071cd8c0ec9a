package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// minHeldOut is the number of earlier conversations below which they show too little.
const minHeldOut = 4

// HeldOut reports if a new version names fewer of the decisive calls of earlier conversations than the current
// one: an agent that followed it would have known less of what to do next. The conversations are those that
// the skill was learnt from; with fewer than four, there is no finding.
func HeldOut(current, next skill.Version, held [][]transcript.Message) []approval.Finding {
	was, is, all, used := 0, 0, 0, 0
	lost := ""
	before, after := spoken(current), spoken(next)
	for _, ms := range held {
		calls := transcript.Decisive(ms)
		if len(calls) > 0 {
			used++
		}
		for _, c := range calls {
			all++
			known, kept := names(before, c), names(after, c)
			if known {
				was++
			}
			if kept {
				is++
			}
			if known && !kept && lost == "" {
				lost = c.Name
			}
		}
	}
	if used < minHeldOut || is >= was {
		return nil
	}
	return []approval.Finding{approval.NewFinding(Counterfactual, approval.Review, "", lost,
		fmt.Sprintf("names %d of %d decisive calls of %d earlier conversations; the current version names %d", is, all,
			used, was))}
}

// spoken returns the text of a version with its files.
func spoken(v skill.Version) string {
	var b strings.Builder
	b.WriteString(v.Description + "\n" + v.Body)
	for _, f := range v.Files {
		b.WriteString("\n" + f.Content)
	}
	return b.String()
}

// names reports whether a text contains the name of a call's tool and the names of its arguments.
func names(text string, c transcript.ToolCall) bool {
	var arguments map[string]any
	_ = json.Unmarshal([]byte(c.Arguments), &arguments) // other arguments have no names
	for _, name := range append(slices.Sorted(maps.Keys(arguments)), c.Name) {
		if !strings.Contains(text, name) {
			return false
		}
	}
	return true
}

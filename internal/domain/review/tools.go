package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/skill"
)

// Tools reports tools that a version names and that neither the conversation nor the current version
// mentions.
func Tools(current, next skill.Version, conversation string) (out []approval.Finding) {
	known := fold(conversation + "\n" + current.Body)
	for _, name := range namedTools(next.Document()) {
		if strings.Contains(known, fold(name)) {
			continue
		}
		severity := approval.Note // an ordinary program
		if strings.Contains(name, "_") {
			severity = approval.Review
		}
		out = append(out, approval.NewFinding(UnknownTool, severity, "SKILL.md", name,
			fmt.Sprintf("the conversation does not mention the tool %q", name)))
	}
	return out
}

// calledTool matches a name in snake case before a parenthesis.
var calledTool = regexp.MustCompile(`\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\(`)

// namedTools returns the tools under Tool Usage and those that the procedure calls.
func namedTools(d skill.Document) (out []string) {
	for _, t := range d.Tools {
		if words := strings.Fields(t); len(words) > 0 {
			out = append(out, strings.Trim(words[0], "`:,"))
		}
	}
	for _, m := range calledTool.FindAllStringSubmatch(d.Procedure, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return slices.Compact(out)
}

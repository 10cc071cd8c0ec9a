package offlinemodel

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
)

const longProcedure = 6 // number of steps from which a checklist is useful

var (
	typedName = regexp.MustCompile(`([\p{L}_][\p{L}\p{N}_]*)\s*\((\w+)\)`)
	label     = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s*\**([\p{L}][\p{L} /_-]{1,30}?)\**\s*[:：]\**\s*\S`)

	// checkScript is a script that checks arguments. Its placeholders are the purpose, the file
	// name and the lines of FIELDS.
	//go:embed check.py.tmpl
	checkScript string
)

// scriptPlans plans at most one script: a check of the arguments of the main tool, if something was
// calculated or checked.
func (v *view) scriptPlans() []prompt.FilePlan {
	inputs := memoryrules.Each(v.main.List(), func(a memoryrules.Argument) string {
		return a.Name + " (" + a.Kind +
			")"
	})
	if len(inputs) == 0 || !slices.ContainsFunc(v.calls, memoryrules.Call.Checks) {
		return nil
	}
	return []prompt.FilePlan{{
		File: "check_" + strings.Join(v.main.Words(), "_") + ".py", Purpose: v.say("check", v.main.Tool),
		Inputs: strings.Join(inputs, ", "), Outputs: v.say("problems"),
	}}
}

func (v *view) docPlans() []prompt.FilePlan {
	if len(v.learn().steps) < longProcedure {
		return nil
	}
	return []prompt.FilePlan{{File: "checklist.md", Purpose: v.say("checklist", v.learn().theme)}}
}

// planned returns a view for each planned file, except those that the candidate to update has and
// those over the limit.
func (v *view) planned(plans []prompt.FilePlan) []*view {
	have := slices.Concat(v.learn().match.Scripts, v.learn().match.References)
	most, limited := v.material.Limits["max_files"]
	out := []*view{}
	for _, plan := range plans {
		known := slices.ContainsFunc(have, func(file string) bool { return path.Base(file) == plan.File })
		if !known && (!limited || len(out) < most) {
			part := *v
			part.file = plan
			out = append(out, &part)
		}
	}
	return out
}

// code writes the Python script of a plan, as far as rules can: a check of the named inputs. Other
// languages are left empty.
func (v *view) code() string {
	if path.Ext(v.file.File) != ".py" {
		return ""
	}
	field := func(match []string) string { return fmt.Sprintf("    %q: %q,\n", match[1], match[2]) }
	fields := memoryrules.Each(typedName.FindAllStringSubmatch(v.file.Inputs, -1), field)
	purpose := strings.Join(strings.Fields(v.file.Purpose), " ")
	return fmt.Sprintf(checkScript, purpose, path.Base(v.file.File), strings.Join(fields, ""))
}

// text writes a planned file.
func (v *view) text() string {
	if path.Ext(v.file.File) == ".md" {
		return v.markdown()
	}
	return v.code()
}

// markdown writes a planned document from the draft: its steps as a checklist, its warnings
// and the user's preferences.
func (v *view) markdown() string {
	draft := cmp.Or(v.material.Draft, &prompt.Candidate{})
	out := "# " + cmp.Or(v.file.Purpose, draft.Name) + "\n" // without a plan, the heading is the name
	return out + section(v.say("when"), "", []string{draft.Description}) +
		section(v.say("steps"), "- [ ] ", memoryrules.Lines(draft.Procedure)) +
		section(v.say("watch"), "- ", slices.Concat(draft.Pitfalls, draft.Rules, draft.Experience)) +
		section(v.say("wishes"), "- ", draft.Preference)
}

// section renders a section of Markdown. It is empty if there are no lines.
func section(heading, mark string, lines []string) string {
	if lines = memoryrules.Distinct(lines, len(lines)); len(lines) == 0 {
		return ""
	}
	return "\n## " + heading + "\n\n" + mark + strings.Join(lines, "\n"+mark) + "\n"
}

// skeletons returns the last list of labeled values that the assistant gave, with its values left
// open. In plain conversation it is the last block of code.
func (v *view) skeletons() []string {
	for _, m := range slices.Backward(v.messages) {
		if m.Role != "assistant" {
			continue
		}
		text := v.mask.Hide(m.Content, false)
		var labels []string
		for line := range strings.Lines(text) {
			if match := label.FindStringSubmatch(line); match != nil {
				labels = append(labels, "- "+match[1]+": …")
			}
		}
		if labels = memoryrules.Distinct(labels, 12); len(labels) > 2 {
			return []string{strings.Join(labels, "\n")}
		}
		if code := fenced.FindString(text); code != "" && len(v.calls) == 0 {
			return []string{code}
		}
	}
	return nil
}

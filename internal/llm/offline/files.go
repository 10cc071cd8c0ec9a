package offline

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

const (
	longProcedure = 6 // steps from which a checklist helps
	runLength     = 3 // calls in a row that a script is worth when they come twice
)

var (
	typedName = regexp.MustCompile(`([\p{L}_][\p{L}\p{N}_]*)(?:\s*\((\w+)\))?`)
	label     = regexp.MustCompile(`^\s*(?:[-*•]|\d+[.)])\s*\**([\p{L}][\p{L} /_-]{1,30}?)\**\s*[:：]\**\s*\S`)
	block     = regexp.MustCompile("(?s)```.*?\n```")

	// checkScript is a script that checks arguments; its holes are the purpose,
	// the file name and the lines of FIELDS.
	//go:embed check.py.tmpl
	checkScript string
)

// scriptPlans plans at most one script: a check of the arguments of the main
// tool, when the work was of the kind that a program does better, a calculation
// or the same run of calls twice.
func (v *view) scriptPlans() []prompt.FilePlan {
	main, _ := v.mainCall()
	if !slices.ContainsFunc(v.calls, notice.Call.Checks) && !v.repeats() {
		return nil
	}
	var inputs []string
	for _, c := range v.distinctCalls() {
		for _, a := range c.List() {
			if c.Tool == main.Tool {
				inputs = append(inputs, a.Name+" ("+a.Kind+")")
			}
		}
	}
	if len(inputs) == 0 {
		return nil
	}
	return []prompt.FilePlan{{
		File: "check_" + strings.Join(main.Words(), "_") + ".py", Purpose: v.say("check", main.Tool),
		Inputs: strings.Join(inputs, ", "), Outputs: v.say("problems"),
	}}
}

// repeats reports whether a run of different tools occurs twice.
func (v *view) repeats() bool {
	first := map[string]int{}
	for i := range max(0, len(v.calls)-runLength+1) {
		var run []string
		for _, c := range v.calls[i : i+runLength] {
			run = append(run, c.Tool)
		}
		at, known := first[strings.Join(run, " ")]
		if known && i >= at+runLength && len(notice.Distinct(run, runLength)) == runLength {
			return true
		}
		if !known {
			first[strings.Join(run, " ")] = i
		}
	}
	return false
}

func (v *view) docPlans() []prompt.FilePlan {
	if len(v.learn().steps) < longProcedure {
		return nil
	}
	return []prompt.FilePlan{{File: "checklist.md", Purpose: v.say("checklist", strings.Join(v.learn().theme, " "))}}
}

// planned has a view for each file, without those that the candidate to update
// has and those over the limit.
func (v *view) planned(plans []prompt.FilePlan) []*view {
	have := slices.Concat(v.old().Scripts, v.old().References)
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

// code writes the Python that a plan asks for, as far as rules can: a check of
// the named inputs. Other languages are left empty.
func (v *view) code() string {
	if path.Ext(v.file.File) != ".py" {
		return ""
	}
	var names, fields []string
	for _, match := range typedName.FindAllStringSubmatch(v.file.Inputs, -1) {
		if match[2] == "" && notice.IsStop(match[1]) || slices.Contains(names, match[1]) {
			continue
		}
		names = append(names, match[1])
		fields = append(fields, fmt.Sprintf("    %q: %q,\n", match[1], match[2]))
	}
	purpose := strings.Join(strings.Fields(v.file.Purpose), " ")
	return fmt.Sprintf(checkScript, purpose, path.Base(v.file.File), strings.Join(fields, ""))
}

// markdown writes the one planned document from the draft: its steps to tick
// off, what to watch and what the user prefers.
func (v *view) markdown() string {
	draft, heading := v.material.Draft, v.file.Purpose
	if draft == nil {
		draft = &prompt.Candidate{Name: notice.Title(v.learn().theme), Procedure: numbered(v.learn().steps), Experience: v.lessons()}
	}
	if heading == "" {
		heading = draft.Name
	}
	out := "# " + heading + "\n"
	section := func(key, mark string, lines []string) {
		if lines = notice.Distinct(lines, len(lines)); len(lines) > 0 {
			out += "\n## " + v.say(key) + "\n\n" + mark + strings.Join(lines, "\n"+mark) + "\n"
		}
	}
	section("when", "", []string{draft.Description})
	section("steps", "- [ ] ", notice.Lines(draft.Procedure))
	section("watch", "- ", draft.Experience)
	section("wishes", "- ", draft.Preference)
	return out
}

// skeletons are the last list of labelled values that the assistant gave, its
// values left open, or in plain talk its last block of code.
func (v *view) skeletons() []string {
	for _, m := range slices.Backward(v.messages) {
		var labels []string
		for line := range strings.Lines(m.Content) {
			if match := label.FindStringSubmatch(line); match != nil && m.Role == "assistant" {
				labels = append(labels, "- "+match[1]+": …")
			}
		}
		if labels = notice.Distinct(labels, 12); len(labels) > 2 {
			return []string{strings.Join(labels, "\n")}
		}
		if code := block.FindString(m.Content); code != "" && m.Role == "assistant" && len(v.calls) == 0 {
			return []string{code}
		}
	}
	return nil
}

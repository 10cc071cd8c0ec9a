package skill

import (
	"fmt"
	"regexp"
	"strings"
)

// Step is a step of a procedure. All but Text may be empty.
type Step struct {
	Text      string   `json:"text"`
	Tool      string   `json:"tool,omitempty"`
	Arguments []string `json:"arguments,omitempty"` // names
	Check     string   `json:"check,omitempty"`     // for a risky step
	IfFails   string   `json:"if_fails,omitempty"`
}

const (
	stepIndent = "   "
	checkLabel = stepIndent + "Check: "
	failsLabel = stepIndent + "If it fails: "
)

// Steps renders a numbered list:
//
//  1. Read the order. `get_order(order_id)`
//     Check: the order is pending.
//     If it fails: tell the customer.
func Steps(steps []Step) string {
	var b strings.Builder
	for i, s := range steps {
		fmt.Fprintf(&b, "%d. %s", i+1, strings.ReplaceAll(strings.TrimSpace(s.Text), "\n", "\n"+stepIndent))
		if s.Tool != "" && !strings.Contains(s.Text, s.Tool+"(") {
			fmt.Fprintf(&b, " `%s(%s)`", s.Tool, strings.Join(s.Arguments, ", "))
		}
		b.WriteByte('\n')
		if check := line(s.Check); check != "" {
			b.WriteString(checkLabel + check + "\n")
		}
		if fails := line(s.IfFails); fails != "" {
			b.WriteString(failsLabel + fails + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

var (
	stepLine = regexp.MustCompile(`^\d{1,4}[.)] +(.*)$`)
	stepCall = regexp.MustCompile("^(.*?) `([\\pL\\d_.:/-]+)\\(([^()`]*)\\)`$")
)

// ParseSteps parses a numbered list. ok is false for a text that has other parts.
func ParseSteps(text string) (steps []Step, ok bool) {
	for each := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		m := stepLine.FindStringSubmatch(each)
		if m == nil && len(steps) == 0 {
			return nil, false
		}
		if m != nil {
			steps = append(steps, Step{Text: m[1]})
			if call := stepCall.FindStringSubmatch(m[1]); call != nil {
				steps[len(steps)-1] = Step{Text: call[1], Tool: call[2], Arguments: split(call[3], ",")}
			}
			continue
		}
		last := &steps[len(steps)-1]
		if check, found := strings.CutPrefix(each, checkLabel); found && last.Check == "" {
			last.Check = check
		} else if fails, found := strings.CutPrefix(each, failsLabel); found && last.IfFails == "" {
			last.IfFails = fails
		} else if more, found := strings.CutPrefix(each, stepIndent); found && last.Tool == "" {
			last.Text += "\n" + more
		} else {
			return nil, false
		}
	}
	return steps, Steps(steps) == strings.TrimSpace(text)
}

// KeepChecks returns a procedure with the checks of the steps that it has in common with the previous one.
func KeepChecks(previous, next string) string {
	before, _ := ParseSteps(previous)
	after, ok := ParseSteps(next)
	if !ok {
		return next
	}
	for i, s := range after {
		for _, b := range before {
			if !strings.EqualFold(line(b.Text), line(s.Text)) {
				continue
			}
			if s.Check == "" {
				after[i].Check = b.Check
			}
			if s.IfFails == "" {
				after[i].IfFails = b.IfFails
			}
			if s.Tool == "" {
				after[i].Tool, after[i].Arguments = b.Tool, b.Arguments
			}
		}
	}
	return Steps(after)
}

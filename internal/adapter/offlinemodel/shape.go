package offlinemodel

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/memoryrules"
	skills "cairn/internal/domain/skill"
)

// object is a part of a reply.
type object = map[string]any

// inputs returns what the work needs: each argument once, with the tool or the person that it comes from.
// Composed arguments are written by the agent.
func (v *view) inputs() []object {
	var out []object
	have := skills.ParseInput
	for _, c := range v.learn().work {
		for _, a := range c.List() {
			known := func(o object) bool { return o["name"] == a.Name }
			old := func(line string) bool { return have(line).Name == a.Name }
			if a.Composed() || c.Checks() || slices.ContainsFunc(out, known) ||
				slices.ContainsFunc(v.learn().match.Inputs, old) {
				continue
			}
			origin := v.say("user")
			if source := v.source(a); source != "" {
				origin = strings.Trim(v.say("from", source), " ()（）")
			}
			out = append(out, object{"name": a.Name, "origin": origin, "required": true})
		}
	}
	return out
}

// otherTasks returns what other tools changed in jobs of their own: the skill is not about that.
func (v *view) otherTasks() []string {
	var out []string
	for _, c := range v.calls {
		worked := func(other memoryrules.Call) bool { return other.Tool == c.Tool }
		if c.Changes() && c.Answered && !slices.ContainsFunc(v.learn().work, worked) {
			out = append(out, strings.Join(c.Words(), " "))
		}
	}
	return v.merged(memoryrules.Distinct(out, maxLessons), v.learn().match.NotFor)
}

var (
	conditional = regexp.MustCompile(`^(?:[A-Z][\w ]{1,30}: )?(?:If|When|Whenever|Once) (.+?), (?:then )?(.+)$|` +
		`^(?:如果|若|当)(.+?)，(?:则|就)?(.+)$`)
	amount = regexp.MustCompile(`(?i)([$€£¥]\d[\d.,]*)|(\d[\d.,]*)[ -]?(%|percent|seconds?|minutes?|hours?|days?|` +
		`weeks?|months?|years?|dollars?|euros?|times|分钟|小时|天|周|个月|年|元|次)`)
)

// decisions returns the rules of system messages and the order in which things were read and changed.
func (v *view) decisions() []object {
	var out []object
	add := func(r skills.Rule, at ...int) {
		if v.find(v.learn().match.Rules, r.Statement()) < 0 {
			out = append(out, object{"if": r.If, "then": r.Then, "value": r.Value, "unit": r.Unit, "source": r.Source,
				"evidence": at})
		}
	}
	for _, s := range v.learn().rules {
		r := skills.Rule{Then: strings.TrimRight(s.Text, "。."), Source: skills.SourcePolicy}
		if m := conditional.FindStringSubmatch(r.Then); m != nil {
			r.If, r.Then = m[1]+m[3], m[2]+m[4]
		}
		if m := amount.FindStringSubmatch(s.Text); m != nil {
			r.Value, r.Unit = m[1]+m[2], m[3]
		}
		add(r, s.Index)
	}
	for _, c := range v.learn().work {
		if read, name := v.readBefore(c); name != "" {
			add(skills.Rule{If: v.say("about to", c.Tool), Then: v.say("read first", read.Tool, name),
				Source: skills.SourceObserved},
				read.Index, c.Index)
		}
	}
	return out
}

// readBefore returns the first reading call before a change with the same value of an argument, and its name.
func (v *view) readBefore(c memoryrules.Call) (read memoryrules.Call, name string) {
	if !c.Changes() || c.Failed {
		return read, ""
	}
	for _, other := range v.calls {
		if same := shared(other, c); other.Index < c.Index && reads(other) && same != "" {
			return other, same
		}
	}
	return read, ""
}

// readBack returns the first reading call after a change with the same value of an argument.
func (v *view) readBack(c memoryrules.Call) (read memoryrules.Call, name string) {
	for _, other := range v.calls {
		if same := shared(other, c); other.Index > c.Index && reads(other) && same != "" {
			return other, same
		}
	}
	return read, ""
}

func reads(c memoryrules.Call) bool { return !c.Changes() && !c.Checks() && c.Answered && !c.Failed }

// shared returns the name of the first argument of a call whose value another call has, too.
func shared(c, other memoryrules.Call) string {
	for _, a := range c.List() {
		for _, b := range other.List() {
			if !a.Composed() && len(a.Leaves) > 0 && slices.Equal(a.Leaves, b.Leaves) {
				return a.Name
			}
		}
	}
	return ""
}

// shown returns the names of the arguments whose values the result of a call repeats.
func shown(c memoryrules.Call) []string {
	var out []string
	for _, a := range c.List() {
		missing := func(leaf string) bool { return !strings.Contains(c.Result, leaf) }
		if len(a.Leaves) > 0 && !slices.ContainsFunc(a.Leaves, missing) {
			out = append(out, "`"+a.Name+"`")
		}
	}
	return out
}

// check returns what the result of a change shows.
func (v *view) check(c memoryrules.Call) string {
	if !c.Changes() || c.Failed || !c.Answered {
		return ""
	}
	return v.say("no error") + v.list("shows", shown(c)) + v.say("stop")
}

// verification returns the checks that were seen at the end of the work: the result of the main call, and what was
// read after it.
func (v *view) verification() []string {
	c := v.main
	if !c.Changes() || c.Failed || !c.Answered {
		return nil
	}
	out := []string{v.say("answers", c.Tool) + v.list("shows", shown(c)) + v.say("stop")}
	if read, name := v.readBack(c); name != "" {
		out = append(out, v.say("read back", read.Tool, name))
	}
	return v.merged(out, v.learn().match.Verification)
}

var errorWord = regexp.MustCompile(`(?i)^\W*(?:error|错误|失败)\W*`)

// failure is a failed call, and what was done about it.
type failure struct {
	skills.Pitfall
	tool string
	at   []int
}

// failures pairs the first occurrence of each kind of failure with the success that followed it. The texts of
// those without one are unfixed.
func (v *view) failures() (fixed []failure, unfixed []string) {
	seen := map[string]bool{}
	for i, c := range v.calls {
		if !c.Failed || !v.tookPart(c) {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimSpace(c.Result), "\n")
		text := strings.Trim(v.mask.Hide(line, false), `"{} .`)
		if seen[c.Tool+text] {
			continue
		}
		seen[c.Tool+text] = true
		later := v.calls[i+1:]
		at := slices.IndexFunc(later, func(next memoryrules.Call) bool {
			return next.Tool == c.Tool && next.Answered && !next.Failed
		})
		if at < 0 {
			unfixed = append(unfixed, v.say("unfixed", c.Tool, errorWord.ReplaceAllString(text, "")))
			continue
		}
		f := failure{Pitfall: skills.Pitfall{Error: text}, tool: c.Tool, at: []int{c.Index, later[at].Index}}
		f.Cause, f.Fix = v.fix(c, later[:at], later[at])
		fixed = append(fixed, f)
	}
	return fixed, unfixed
}

// fix returns the cause of a failure and what helped: other arguments, possibly from a tool that was called in
// between, or that call alone.
func (v *view) fix(failed memoryrules.Call, between []memoryrules.Call, next memoryrules.Call) (cause, fix string) {
	changed := differences(failed, next)
	for _, helper := range between {
		if helper.Failed || helper.Tool == failed.Tool {
			continue
		}
		if len(changed) == 0 {
			return v.say("too early", failed.Tool, helper.Tool), v.say("before", helper.Tool, failed.Tool)
		}
		given := func(a memoryrules.Argument) bool {
			return slices.Contains(changed, "`"+a.Name+"`") && len(a.Leaves) > 0 && strings.Contains(helper.Result,
				a.Leaves[0])
		}
		if at := slices.IndexFunc(next.List(), given); at >= 0 {
			name := next.List()[at].Name
			return v.say("not from", name, helper.Tool), v.say("take", name, helper.Tool, failed.Tool)
		}
	}
	if len(changed) == 0 {
		return "", v.say("again", failed.Tool)
	}
	given := func(name string) bool {
		return slices.ContainsFunc(failed.List(), func(a memoryrules.Argument) bool { return "`"+a.Name+"`" == name })
	}
	if !slices.ContainsFunc(changed, given) {
		return v.list("absent", changed), v.list("add", changed) + v.say("again", failed.Tool)
	}
	return v.list("refused", changed), v.list("change", changed) + v.say("again", failed.Tool)
}

// pitfalls returns the fixed failures as objects.
func (v *view) pitfalls() []object {
	var out []object
	for _, f := range v.learn().failures {
		if v.find(v.learn().match.Pitfalls, f.String()) < 0 {
			out = append(out, object{"error": f.Error, "cause": f.Cause, "fix": f.Fix, "evidence": f.at})
		}
	}
	return out
}

// remedy returns what to do if a call fails: the fix of its first failure.
func (v *view) remedy(c memoryrules.Call) string {
	fixed, _ := v.failures()
	at := slices.IndexFunc(fixed, func(f failure) bool { return f.tool == c.Tool })
	if at < 0 {
		return ""
	}
	return memoryrules.Capital(fixed[at].Fix) + v.say("stop")
}

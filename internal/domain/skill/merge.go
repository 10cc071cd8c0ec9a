package skill

import (
	"fmt"
	"slices"
	"strings"
)

// MergeResult is the result of an update.
type MergeResult struct {
	Document Document
	Files    []File   // existing files; CarryOver adds new ones
	Summary  string   // changes in one line, or "no change"
	Flags    []string // points for the reviewer of the change
}

// Merge applies a draft to a skill without losing anything by omission.
// Empty fields of the draft mean unchanged. Lists are unions with the current items first.
// Description and procedure are replaced if they are given; steps that stay keep their checks. Scripts and
// reference files stay. Only the items in Removed are removed. The skill keeps its name and its profile.
func Merge(current Document, files []File, d Draft) MergeResult {
	m := merger{removed: d.Removed}
	next, proposed := current.Normalized(), NewDocument(d)
	seed := next.isSeed()
	if seed {
		next = next.agent()
	}
	if next.Name == "" {
		next.Name = proposed.Name
	}
	m.text("description", &next.Description, proposed.Description)
	m.procedure(&next.Procedure, KeepChecks(next.Procedure, proposed.Procedure))
	m.when(&next, ParseWhen(proposed.WhenToUse))
	mergeParts(&m, "inputs", &next.Inputs, proposed.Inputs, ParseInput)
	mergeParts(&m, "rules", &next.Rules, proposed.Rules, ParseRule)
	m.lines("pitfalls", &next.Pitfalls, proposed.Pitfalls)
	m.lines("verification", &next.Verification, proposed.Verification)
	m.list("experience", &next.Experience, proposed.Experience, MaxItems)
	m.list("preference", &next.Preference, proposed.Preference, MaxItems)
	m.list("examples", &next.Examples, proposed.Examples, MaxExamples)
	m.list("tools", &next.Tools, proposed.Tools, MaxItems)
	m.entries(&next.Others, proposed.Others)
	kept := m.files(files)
	if len(m.changes) == 0 {
		m.changes = []string{"no change"}
	}
	if seed {
		next = next.Seed()
	}
	return MergeResult{
		Document: next.WithFiles(kept),
		Files:    kept,
		Summary:  strings.Join(m.changes, "; "),
		Flags:    m.flags,
	}
}

type merger struct {
	removed []Removal
	changes []string
	flags   []string
}

func (m *merger) change(format string, args ...any) {
	m.changes = append(m.changes, fmt.Sprintf(format, args...))
}

// isRemoved reports whether a removal names an item of a field.
func (m *merger) isRemoved(item string, fields ...string) bool {
	return slices.ContainsFunc(m.removed, func(r Removal) bool {
		return (r.Field == "" || slices.Contains(fields, r.Field)) && fold(r.Item) == fold(item)
	})
}

func (m *merger) text(field string, current *string, proposed string) {
	if proposed != "" && proposed != *current {
		*current = proposed
		m.change("%s changed", field)
	}
}

// when adds triggers to the section When to Use or, if the skill has it, to the section Trigger.
func (m *merger) when(d *Document, proposed When) {
	current := ParseWhen(d.WhenToUse)
	trigger := &current.Use
	if len(d.Trigger) > 0 {
		trigger = &d.Trigger
	}
	m.list("trigger", trigger, proposed.Use, MaxTriggers)
	m.list("not_for", &current.Not, proposed.Not, MaxItems)
	d.WhenToUse = current.String()
}

// lines adds the items of a text that another text does not have.
func (m *merger) lines(field string, current *string, proposed string) {
	items := parseItems(*current)
	before := len(items)
	m.list(field, &items, parseItems(proposed), MaxItems)
	switch {
	case len(items) < before:
		*current = bulleted.render(items)
	case len(items) > before:
		added := bulleted.render(items[before:])
		if last := strings.LastIndexByte(*current, '\n') + 1; strings.HasPrefix((*current)[last:], "- ") {
			*current += "\n" + added // the list goes on
		} else {
			*current = paragraphs([]string{*current, added})
		}
	}
}

// mergeParts joins two lists of parts. A part that is removed is quoted as it is rendered.
func mergeParts[T fmt.Stringer](m *merger, field string, current *[]T, proposed []T, parse func(string) T) {
	items := texts(*current)
	m.list(field, &items, texts(proposed), MaxItems)
	*current = nil
	for _, text := range items {
		*current = append(*current, parse(text))
	}
}

func (m *merger) procedure(current *string, proposed string) {
	if proposed == "" || proposed == *current {
		return
	}
	before, after := countLines(*current), countLines(proposed)
	announced := slices.ContainsFunc(m.removed, func(r Removal) bool {
		return r.Field == "procedure" || r.Field == "" && strings.Contains(fold(*current), fold(r.Item))
	})
	if after*100 < before*keptShare && !announced {
		m.flags = append(m.flags, fmt.Sprintf("procedure shrinks from %d to %d lines", before, after))
	}
	*current = proposed
	m.change("procedure %d → %d lines", before, after)
}

func countLines(text string) int {
	count := 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" {
			count++
		}
	}
	return count
}

func (m *merger) list(field string, current *[]string, proposed []string, most int) {
	before := *current
	kept := slices.DeleteFunc(
		slices.Clone(before),
		func(item string) bool { return m.isRemoved(item, field, field+"s") },
	)
	union := distinct(slices.Concat(kept, proposed))
	if slices.Equal(union, before) {
		return
	}
	*current = union
	removed := len(before) - len(kept)
	m.change("%s %s", field, signed(len(union)-len(kept), removed))
	if len(union) > most {
		m.flags = append(m.flags, fmt.Sprintf("%s has %d items, more than %d", field, len(union), most))
	}
}

// entries replaces inline entries with the same key and adds new ones.
func (m *merger) entries(current *[]Entry, proposed []Entry) {
	before := *current
	kept := slices.DeleteFunc(slices.Clone(before), func(e Entry) bool {
		return m.isRemoved(e.Key, "others", "inline") ||
			slices.ContainsFunc(proposed, func(p Entry) bool { return fold(p.Key) == fold(e.Key) })
	})
	union := settleEntries(slices.Concat(kept, proposed))
	if slices.Equal(union, before) {
		return
	}
	*current = union
	m.change("others %d → %d", len(before), len(union))
}

func (m *merger) files(current []File) []File {
	kept := slices.DeleteFunc(slices.Clone(current), func(f File) bool {
		kind := f.Kind()
		if kind == Reference && m.isRemoved(f.Name(), "references", "others") {
			return true
		}
		return m.isRemoved(f.Name(), kind) || m.isRemoved(f.Path, kind)
	})
	if removed := len(current) - len(kept); removed > 0 {
		m.change("files −%d", removed)
	}
	return kept
}

func signed(added, removed int) string {
	switch {
	case removed == 0:
		return fmt.Sprintf("+%d", added)
	case added == 0:
		return fmt.Sprintf("−%d", removed)
	default:
		return fmt.Sprintf("+%d −%d", added, removed)
	}
}

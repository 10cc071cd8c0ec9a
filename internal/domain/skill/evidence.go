package skill

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// confidence reads a number from 0 to 1. Other values are ignored.
func (f *fields) confidence(d *Draft) {
	value := f.take("confidence")
	if value == nil {
		return
	}
	text, _ := plain(value)
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) {
		f.note("confidence: not a number, ignored")
		return
	}
	number = min(max(number, 0), 1)
	d.Confidence = &number
}

// evidence reads message numbers and [first, last] ranges. Without valid evidence, the draft is
// based on the whole chunk.
func (f *fields) evidence(d *Draft, seqs []int) {
	inChunk := map[int]bool{}
	for _, seq := range seqs {
		inChunk[seq] = true
	}
	value := f.take("evidence")
	items, ok := value.([]any)
	if !ok && value != nil {
		items = []any{value}
	}
	outside := 0
	for _, item := range items {
		first, last, ok := evidenceRange(item)
		if !ok || last < first || last-first > len(seqs) && !inChunk[first] {
			outside++
			continue
		}
		hits := 0
		for _, seq := range seqs {
			if seq >= first && seq <= last {
				d.Evidence = append(d.Evidence, seq)
				hits++
			}
		}
		if hits == 0 {
			outside++
		}
	}
	if outside > 0 {
		f.note("evidence: %d citations are not of this task's messages", outside)
	}
	slices.Sort(d.Evidence)
	d.Evidence = slices.Compact(d.Evidence)
	d.Cited = len(d.Evidence) > 0
	if !d.Cited {
		d.Evidence = slices.Clone(seqs)
	}
}

// parts reads inputs, rules, steps, pitfalls and checks. Steps in the field procedure are those of other
// formats, which cite nothing.
func (f *fields) parts(d *Draft, seqs []int, known []string) {
	r := SourceReader{Cites: func(value any) bool { return cites(value, seqs) }}
	d.NotFor = f.list("not_for", MaxItems, MaxDescription, "not_for")
	d.Inputs = r.Inputs(f.take("inputs"))
	d.Rules = r.Rules(f.take("rules", "decision_rules"))
	d.Pitfalls = r.Pitfalls(f.take("pitfalls"))
	d.Verification = f.list("verification", MaxItems, 0, "verification")
	d.Procedure = f.procedure()
	if steps := f.take("steps"); steps != nil {
		text := Steps(r.Steps(steps, func(step string) bool {
			return d.Action == Update && slices.ContainsFunc(known, func(procedure string) bool {
				return strings.Contains(fold(procedure), fold(step))
			})
		}))
		if d.Procedure = cmp.Or(text, d.Procedure); utf8.RuneCountInString(text) > MaxProcedure {
			f.fault("steps: %d characters, at most %d are allowed", utf8.RuneCountInString(text), MaxProcedure)
		}
	}
	if f.dropped = r.Dropped; f.dropped > 0 {
		f.note("%d rules, steps or pitfalls were dropped: they cite no message of the task", f.dropped)
	}
}

// cites reports whether a value has a message number or a range of the task's messages.
func cites(value any, seqs []int) bool {
	items, ok := value.([]any)
	if !ok {
		items = []any{value}
	}
	return slices.ContainsFunc(items, func(item any) bool {
		first, last, ok := evidenceRange(item)
		return ok && slices.ContainsFunc(seqs, func(seq int) bool { return seq >= first && seq <= last })
	})
}

func evidenceRange(item any) (first, last int, ok bool) {
	if pair, isPair := item.([]any); isPair && len(pair) == 2 {
		var second bool
		first, ok = integer(pair[0])
		last, second = integer(pair[1])
		return first, last, ok && second
	}
	first, ok = integer(item)
	return first, first, ok
}

func integer(value any) (int, bool) {
	text, ok := plain(value)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > math.MaxInt32 {
		return 0, false
	}
	return int(number), true
}

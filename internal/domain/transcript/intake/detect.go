package intake

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// scores by the certainty of the strongest record, out of 100.
var scores = map[level]int{possible: 40, likely: 80, certain: 95}

// Detect returns how well an input suits the adapter, from 0 to 100, and why.
func (a Adapter) Detect(p Probe) (score int, reason string) {
	if a.claim == nil {
		return detectText(p)
	}
	best, fit := foreign, 0
	for _, r := range p.records {
		found, why := a.claim(r)
		if found > foreign {
			fit++
		}
		if found > best {
			best, reason = found, why
		}
	}
	if fit == 0 {
		return 0, ""
	}
	score = scores[best] * fit / len(p.records)
	if a.Name == OpenAIChat && best == possible {
		score += 5 // a plain list of roles and texts is read in the same way by others
	}
	return max(score, 1), reason
}

// choose returns the adapter for an input. A name forces it.
func choose(p Probe, forced string) (Adapter, string, error) {
	all := adapters()
	if forced != "" {
		at := slices.IndexFunc(all, func(a Adapter) bool { return a.Name == forced })
		if at < 0 {
			return Adapter{}, "", fault.New(fault.InvalidArgument, fmt.Sprintf("unknown format %q", forced),
				"use one of "+names(all))
		}
		return all[at], "forced", nil
	}
	if err := refused(p); err != nil {
		return Adapter{}, "", err
	}
	var best []int
	var reasons []string
	top := 0
	for i, a := range all {
		score, reason := a.Detect(p)
		if score < top || score == 0 {
			continue
		}
		if score > top {
			best, reasons, top = nil, nil, score
		}
		best, reasons = append(best, i), append(reasons, reason)
	}
	switch {
	case len(best) == 0:
		return Adapter{}, "", unrecognized(p, all)
	case len(best) > 1:
		if other, at := mixed(p, all, all[best[0]]); other != "" {
			return Adapter{}, "", twoFormats(p.Name, all[best[0]].Name, other, fmt.Sprintf("record %d", at+1))
		}
		return Adapter{}, "", fault.New(
			fault.InvalidArgument,
			fmt.Sprintf(
				"%s: two formats are equally likely: %s (%s) and %s (%s)",
				p.Name,
				all[best[0]].Name,
				reasons[0],
				all[best[1]].Name,
				reasons[1],
			),
			"choose one with --format NAME",
		)
	}
	chosen := all[best[0]]
	if other, at := mixed(p, all, chosen); other != "" {
		return Adapter{}, "", twoFormats(p.Name, chosen.Name, other, fmt.Sprintf("record %d", at+1))
	}
	return chosen, reasons[0], nil
}

func twoFormats(file, one, other, where string) error {
	return fault.New(fault.InvalidArgument,
		fmt.Sprintf("%s: two formats in one file: %s and %s, from %s on", file, one, other, where),
		"split the file, one format each")
}

// mixed returns the first record that belongs to another format than the chosen one.
func mixed(p Probe, all []Adapter, chosen Adapter) (other string, at int) {
	if chosen.claim == nil {
		return "", 0
	}
	for i, r := range p.records {
		if name := owner(r, all, chosen); name != "" {
			return name, i
		}
		if !chosen.inner {
			continue
		}
		for k, m := range objects(list(r, "messages")) {
			if name := owner(m, all, chosen); name != "" {
				return name, k
			}
		}
	}
	return "", 0
}

// owner returns the format of a record that the chosen adapter cannot read.
func owner(r record, all []Adapter, chosen Adapter) string {
	if found, _ := chosen.claim(r); found != foreign {
		return ""
	}
	for _, a := range all {
		if a.claim == nil || a.Name == chosen.Name {
			continue
		}
		if found, _ := a.claim(r); found >= likely {
			return a.Name
		}
	}
	return ""
}

// unrecognized returns the error for an input that no adapter claims.
func unrecognized(p Probe, all []Adapter) error {
	if !p.json {
		return unknownFormat(p.Name+": unknown format: neither JSON nor `name: text` lines",
			"use one of the formats "+names(all))
	}
	if len(p.records) == 0 && p.Whole {
		return unknownFormat(p.Name+": no messages", Hint)
	}
	keys := p.keys()
	type near struct {
		name   string
		shared int
	}
	nearest := make([]near, 0, len(all))
	for _, a := range all {
		n := near{name: a.Name}
		for _, key := range a.Keys {
			if slices.Contains(keys, key) {
				n.shared++
			}
		}
		nearest = append(nearest, n)
	}
	slices.SortStableFunc(nearest, func(a, b near) int { return b.shared - a.shared })
	top := p.top()
	listed := "no keys"
	if len(top) > 0 {
		listed = "keys " + strings.Join(top[:min(len(top), 12)], ", ")
	}
	return unknownFormat(fmt.Sprintf("%s: unknown format: %s", p.Name, listed),
		fmt.Sprintf("the nearest formats are %s, %s and %s: choose one with --format NAME, or run `cairn formats`",
			nearest[0].name, nearest[1].name, nearest[2].name))
}

func unknownFormat(message, hint string) error {
	return &unclaimed{known: fault.New(fault.InvalidArgument, message, hint)}
}

// unclaimed is the error about an input that no adapter claims.
type unclaimed struct{ known *fault.Error }

// Error returns the message for users.
func (u *unclaimed) Error() string { return u.known.Error() }

// Unwrap returns the error with its code and hint.
func (u *unclaimed) Unwrap() error { return u.known }

// IsUnknown reports whether an input has no known format.
func IsUnknown(err error) bool {
	var u *unclaimed
	return errors.As(err, &u)
}

func names(all []Adapter) string {
	var out []string
	for _, a := range all {
		out = append(out, a.Name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// refused returns the error for files that need an export first.
func refused(p Probe) error {
	switch {
	case strings.HasPrefix(string(p.Head), "SQLite format 3\x00"):
		return fault.New(fault.InvalidArgument, p.Name+": a SQLite database",
			"export it first: `hermes sessions export FILE` for Hermes, or the export of your program")
	case len(p.Head) > 0 && p.Head[0] >= 0x80 && p.Head[0] <= 0x8f:
		return fault.New(fault.InvalidArgument, p.Name+": msgpack, such as a LangGraph checkpoint",
			"export the state as JSON: json.dumps(dumpd(graph.get_state(config).values))")
	}
	return nil
}

// foreignRecord returns an error if a later record of a file belongs to another format.
func (k *Sink) foreignRecord(n JSONValue) error {
	p := newProbe(k.source.Name, n.Raw(), true)
	all := adapters()
	at := slices.IndexFunc(all, func(a Adapter) bool { return a.Name == k.source.Format })
	for _, r := range p.records {
		if other := owner(r, all, all[at]); other != "" {
			return k.source.Bad(n, "two formats in one file: %s and %s", k.source.Format, other)
		}
	}
	return nil
}

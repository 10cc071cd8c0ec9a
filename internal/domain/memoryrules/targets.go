package memoryrules

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/prompt"
)

// Pair is a target of memories, with its type.
type Pair struct{ Type, Target string }

// Registry lists the available targets. Instructions contain the existing ones, and some tools add
// targets.
type Registry struct {
	Instructions string
	Adds         bool     // the call is for targets that are not listed
	MayAdd       bool     // a tool can add targets
	Types        []string // types that the call accepts; empty for all
}

var (
	listed     = regexp.MustCompile(`(?m)^- (\w+)\((.+?)\): `)
	introduced = regexp.MustCompile(`(?:^|[.,!?;] |\b[Hh](?:i|ello|ey),? )(?:[Mm]y name is|[Cc]all me|I'm|I am) ` +
		`(\p{Lu}[\p{L}'’-]+)(?:[.,!?;]|$| and | from )|(?:我叫|我的名字是)\s*(\p{Han}{2,3}?)(?:[，。,.！!]|$)`)
	personal = regexp.MustCompile(`^[\p{Lu}\p{Han}]`)
)

// Targets returns the targets of a call. A question is looked up with each target. A session
// concerns its user: the named speaker, or the person who introduces themselves, or else the only
// target. With several speakers, no rule decides.
func Targets(r Registry, m prompt.Material) (out []Pair) {
	var known []Pair
	for _, found := range listed.FindAllStringSubmatch(r.Instructions, -1) {
		known = append(known, Pair{found[1], found[2]})
	}
	people := Each(known, func(p Pair) string { return p.Type + "/" + strings.ToLower(p.Target) })
	who := users(m)
	switch {
	case m.Question != "":
		out = known
	case len(who) > 1:
	case r.Adds && len(who) == 1 && !slices.Contains(people, "personal/"+strings.ToLower(who[0])):
		out = []Pair{{"personal", who[0]}}
	case r.Adds:
	case len(who) == 1 && slices.Contains(people, "personal/"+strings.ToLower(who[0])):
		out = known[slices.Index(people, "personal/"+strings.ToLower(who[0])):][:1]
	default:
		kept := slices.DeleteFunc(known, func(p Pair) bool { return p.Type != "personal" && p.Type != "procedural" })
		if len(kept) == 1 && (len(who) == 0 || !r.MayAdd) {
			out = kept
		}
	}
	return slices.DeleteFunc(slices.Clone(out), func(p Pair) bool {
		return len(r.Types) > 0 && !slices.Contains(r.Types, p.Type)
	})
}

// users returns the names of the user's speakers.
func users(m prompt.Material) []string {
	var out []string
	for _, one := range m.Messages {
		if one.Role != "user" {
			continue
		}
		if personal.MatchString(one.Name) {
			out = append(out, one.Name)
			continue
		}
		for _, found := range introduced.FindAllStringSubmatch(one.Content, -1) {
			out = append(out, found[1]+found[2])
		}
	}
	return Distinct(out, len(out))
}

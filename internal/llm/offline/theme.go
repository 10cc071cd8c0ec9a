package offline

import (
	"strings"

	"cairn/internal/llm/offline/notice"
)

// theme says in a few words what a transcript is about: the main tool when it
// changes something, else what the user asked for, else the main tool after
// all, else the key terms.
func (v *view) theme(asks []string) []string {
	main, found := v.mainCall()
	switch {
	case found && main.Changes():
		return main.Words()
	case len(asks) > 0:
		return strings.Fields(asks[0])
	case found:
		return main.Words()
	}
	return v.keyWords(2)
}

// mainCall is the call that the rest leads up to: of the tools that change
// something the one with most successes, else the last that does not check.
func (v *view) mainCall() (main notice.Call, found bool) {
	weight := map[string]int{}
	for _, c := range v.calls {
		if c.Changes() && !c.Failed {
			weight[c.Tool] += 100 // any success outweighs failures
		} else if c.Changes() || !c.Checks() {
			weight[c.Tool]++
		}
	}
	for _, c := range v.calls {
		if !found || c.Changes() == main.Changes() && weight[c.Tool] > weight[main.Tool] || c.Changes() && !main.Changes() {
			main, found = c, true
		}
	}
	return main, found
}

// keyTerms are the most frequent stems of what was said, the user's counting
// twice.
func (v *view) keyTerms(n int) []string {
	var all []string
	for _, m := range v.messages {
		if found := notice.Terms(m.Content); m.Role == "user" {
			all = append(append(all, found...), found...)
		} else if m.Role == "assistant" {
			all = append(all, found...)
		}
	}
	return notice.Frequent(all, n)
}

// keyWords are keyTerms as they were first written. Next to tool calls, words
// that are always capitalised are values of this instance, such as places.
func (v *view) keyWords(n int) []string {
	var said strings.Builder
	for _, m := range v.messages {
		said.WriteString(m.Content + "\n")
	}
	written := notice.Spelling(said.String(), len(v.calls) > 0)
	var out []string
	for _, key := range v.keyTerms(3 * n) {
		if written[key] != "" && len(out) < n {
			out = append(out, written[key])
		}
	}
	return out
}

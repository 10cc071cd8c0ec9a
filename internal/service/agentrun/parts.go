package agentrun

import (
	"slices"

	"cairn/internal/domain/run"
)

// MultipartAgent is an Agent whose work has several parts, which are shown one after another. A
// response without calls ends a part. It ends the run after the last part.
type MultipartAgent interface {
	// Reached describes the response that follows those of w. Since is the last response about an
	// earlier part; responses up to it are not shown again. More is true if another part follows.
	Reached(w RunView) (since int, more bool)
}

// Divided assigns responses to the parts of the work, counted from 0. Of is the part of each
// response, next the part of the next response, and since the last response about an earlier part.
// A part ends with a response without calls or after share responses. The last part has no such
// limit.
func Divided(steps []run.Step, parts, share int) (of []int, next, since int) {
	in := 0
	for _, s := range steps {
		of = append(of, next)
		if s.Content == "" && len(s.Calls) == 0 { // an endpoint returned nothing usable
			continue
		}
		if in++; next < parts-1 && (len(s.Calls) == 0 || in >= share) {
			next, since, in = next+1, s.N, 0
		}
	}
	return of, next, since
}

// reached returns Reached for response n.
func (st *runState) reached(n int) (since int, more bool) {
	c, ok := st.agent.(MultipartAgent)
	if !ok {
		return 0, false
	}
	w := st.work()
	w.Steps = slices.DeleteFunc(slices.Clone(w.Steps), func(s run.Step) bool { return s.N >= n })
	return c.Reached(w)
}

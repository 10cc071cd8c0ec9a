package agentrun

import "slices"

// MultipartAgent is an Agent whose work has several parts, which are shown one after
// another. A response without calls ends a part; it ends the run when there is no
// more after it.
type MultipartAgent interface {
	// Reached tells of the response that follows on those of w: up to which one they
	// were about earlier parts, and are not shown any more, and whether another part
	// comes after its own.
	Reached(w RunView) (since int, more bool)
}

// Divided tells to which of several parts, from 0, each response belongs, which one
// the next response is about, and what the last response about an earlier part was.
// A part is over when the model has nothing more to do for it, or when it has had
// its share of the responses; the last one goes on.
func Divided(steps []Step, parts, share int) (of []int, next, since int) {
	in := 0
	for _, s := range steps {
		of = append(of, next)
		if s.Content == "" && len(s.Calls) == 0 { // an endpoint spoilt it
			continue
		}
		if in++; next < parts-1 && (len(s.Calls) == 0 || in >= share) {
			next, since, in = next+1, s.N, 0
		}
	}
	return of, next, since
}

// reached asks the Agent about response n.
func (st *runState) reached(n int) (since int, more bool) {
	c, ok := st.agent.(MultipartAgent)
	if !ok {
		return 0, false
	}
	w := st.work()
	w.Steps = slices.DeleteFunc(slices.Clone(w.Steps), func(s Step) bool { return s.N >= n })
	return c.Reached(w)
}

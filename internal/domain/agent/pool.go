package agent

// treeFactor times the parent's Max is what all sub-agents below it may use together.
const treeFactor = 3

// maxDepth is how deep sub-agents may stand under a run.
const maxDepth = 2

// SubagentBudget is what the sub-agents of a run may use together. They do not draw from
// the parent's own counter, which would starve them or it, but from here: units
// are taken before a child starts and the unused ones come back when it ends. It
// lives in the state of one workflow, so nobody races for it.
type SubagentBudget struct {
	Cap   int `json:"cap"`             // model calls
	Taken int `json:"taken,omitempty"` // granted, less what came back
	Depth int `json:"depth,omitempty"` // of the run that holds the pool: 0 for one that nobody delegated
}

// NewPool is the pool of a run that nobody delegated.
func NewPool(parentMax int) SubagentBudget { return SubagentBudget{Cap: treeFactor * parentMax} }

// Left is how many units can still be granted.
func (p *SubagentBudget) Left() int { return max(p.Cap-p.Taken, 0) }

// Reserve takes units for a child that wants requested of at most childCap; a
// request of 0 is one for childCap. A child may get less than it wants, never
// nothing: ok is false when the pool is empty, when the child would stand too
// deep, or when a number makes no sense.
func (p *SubagentBudget) Reserve(childCap, requested int) (granted int, ok bool) {
	if requested == 0 {
		requested = childCap
	}
	granted = min(childCap, requested, p.Left())
	if granted < 1 || p.Depth >= maxDepth {
		return 0, false
	}
	p.Taken += granted
	return granted, true
}

// Return gives back what a child left: its grant less what it used.
func (p *SubagentBudget) Return(unused int) { p.Taken -= min(max(unused, 0), p.Taken) }

// Lend hands units on, from which a child's own children are granted theirs, so
// that the cap holds for the whole tree. What is left of it is returned when the
// child ends.
func (p *SubagentBudget) Lend(units int) (SubagentBudget, bool) {
	depth := p.Depth + 1
	if units < 1 || depth >= maxDepth {
		return SubagentBudget{}, false
	}
	granted, ok := p.Reserve(units, units)
	return SubagentBudget{Cap: granted, Depth: depth}, ok
}

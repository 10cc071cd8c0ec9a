package agent

// treeFactor × the parent's Max is the number of units that all its sub-agents share.
const treeFactor = 3

// maxDepth is the maximum depth of sub-agents below a run.
const maxDepth = 2

// SubagentBudget is the budget that the sub-agents of a run share. It is separate from the parent's
// budget, so that neither starves the other. Units are taken before a child starts, and unused
// units are returned when it ends. It is part of the state of one workflow and needs no lock.
type SubagentBudget struct {
	Cap   int `json:"cap"`             // model calls
	Taken int `json:"taken,omitempty"` // units granted, less the returned ones
	Depth int `json:"depth,omitempty"` // depth of the run that holds the budget: 0 for a run that was not delegated
}

// NewPool returns the budget for the sub-agents of a run that was not delegated.
func NewPool(parentMax int) SubagentBudget { return SubagentBudget{Cap: treeFactor * parentMax} }

// Left returns the number of units that can still be granted.
func (p *SubagentBudget) Left() int { return max(p.Cap-p.Taken, 0) }

// Reserve takes units for a child: requested units, but at most childCap. A request of 0 means
// childCap. A child may get fewer units than requested, but at least one. ok is false if no units
// are left, if the child would be too deep, or if a number is invalid.
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

// Return gives back the unused units of a child.
func (p *SubagentBudget) Return(unused int) { p.Taken -= min(max(unused, 0), p.Taken) }

// Lend takes units from which a child grants units to its own children, so that the cap applies to
// the whole tree. Its unused units are returned when the child ends.
func (p *SubagentBudget) Lend(units int) (SubagentBudget, bool) {
	depth := p.Depth + 1
	if units < 1 || depth >= maxDepth {
		return SubagentBudget{}, false
	}
	granted, ok := p.Reserve(units, units)
	return SubagentBudget{Cap: granted, Depth: depth}, ok
}

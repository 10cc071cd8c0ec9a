package policy

// Chooser chooses memory skills for spans. It is immutable: a Controller returns a new one. Policy
// is Cairn's implementation.
type Chooser interface {
	// Vector converts an embedding to the form that the chooser uses.
	Vector(embedding []float32) []float64
	// State returns the state of a decision about a span and the memories near it. All vectors are
	// those of Vector.
	State(span []float64, near [][]float64) []float64
	// Choose chooses among candidates for a state. The caller sets the decision's ID, Policy,
	// Bank and Tokens.
	Choose(state []float64, candidates []Candidate, how Choice) (Decision, error)
	// Hash identifies the chooser. Equal choosers have equal hashes.
	Hash() string
	// Weights returns the number of trained parameters.
	Weights() int
}

// Vector folds an embedding to the length of the policy's vectors.
func (p Policy) Vector(embedding []float32) []float64 { return Fold(embedding, p.shape.Dim) }

// State returns the state of a decision, fused as the policy's shape defines.
func (p Policy) State(span []float64, near [][]float64) []float64 { return p.shape.State(span, near) }

// Choose scores the candidates for a state and chooses among them.
func (p Policy) Choose(state []float64, candidates []Candidate, how Choice) (Decision, error) {
	s, err := p.Scorer(candidates)
	if err != nil {
		return Decision{}, err
	}
	return s.Decide(state, how)
}

// Weights returns the number of the policy's parameters.
func (p Policy) Weights() int { return p.shape.Weights() }

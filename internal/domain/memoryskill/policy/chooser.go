package policy

// Chooser chooses memory skills for spans. It never changes: a Learner makes another
// one. Policy is the implementation that Cairn ships.
type Chooser interface {
	// Vector is what the chooser sees of an embedding.
	Vector(embedding []float32) []float64
	// State is what a decision is about: a span and the memories near it, each as
	// Vector returns it.
	State(span []float64, near [][]float64) []float64
	// Choose chooses among candidates for a state. The caller sets the decision's ID,
	// Policy and Bank.
	Choose(state []float64, candidates []Candidate, how Choice) (Decision, error)
	// Hash names the chooser. Equal choosers have equal hashes.
	Hash() string
	// Weights counts the numbers that learning changes.
	Weights() int
}

// Vector folds an embedding to the length that the policy takes.
func (p Policy) Vector(embedding []float32) []float64 { return Fold(embedding, p.shape.Dim) }

// State is what a decision is about, as the policy's shape fuses it.
func (p Policy) State(span []float64, near [][]float64) []float64 { return p.shape.State(span, near) }

// Choose scores the candidates for a state and chooses among them.
func (p Policy) Choose(state []float64, candidates []Candidate, how Choice) (Decision, error) {
	s, err := p.Scorer(candidates)
	if err != nil {
		return Decision{}, err
	}
	return s.Decide(state, how)
}

// Weights counts the policy's parameters.
func (p Policy) Weights() int { return p.shape.Weights() }

package policy

import "math"

// Names of the forms of the exploration bias.
const (
	ExactBias = "exact" // the smallest bias that reaches the target: the default
	RatioBias = "ratio" // the reference program's, which stays below the target
)

// Exploration gives new or refined skills a share of the choices while the policy has not learned
// them.
type Exploration struct {
	Form    string  `json:"form"`     // ExactBias or RatioBias
	Target  float64 `json:"target"`   // τ₀, initial joint probability of the new skills, 0–1
	Window  int     `json:"window"`   // T, iterations until the target is 0
	MaxBias float64 `json:"max_bias"` // δ_max, in logits
}

// DefaultMaxBias raises the probability of new skills from 1 % to 30 %: ln((0.3·0.99)/(0.01·0.7)).
var DefaultMaxBias = math.Log((0.3 * 0.99) / (0.01 * 0.7))

// DefaultExploration returns ExactBias with a target of 0.3 over 50 iterations.
func DefaultExploration() Exploration {
	return Exploration{Form: ExactBias, Target: 0.3, Window: 50, MaxBias: DefaultMaxBias}
}

// Bias returns δ, which is added to the logit of every new skill at the t-th iteration, from 0,
// after they were added. It is zero without new skills, if all selectable skills are new, after the
// window, and if the policy chooses the new skills often enough without it. fresh marks the new
// skills of z; skills beyond its length are known. A logit of −∞ masks its skill.
func (e Exploration) Bias(z []float64, fresh []bool, t int) float64 {
	if t >= e.Window {
		return 0
	}
	known, isNew := make([]bool, len(z)), make([]bool, len(z))
	for i := range z {
		isNew[i] = i < len(fresh) && fresh[i]
		known[i] = !isNew[i]
	}
	ofNew, ofKnown := logSumExp(z, known), logSumExp(z, isNew)
	if math.IsInf(ofNew, -1) || math.IsInf(ofKnown, -1) { // all selectable skills are of one kind
		return 0
	}
	left := 1 - float64(max(0, t))/float64(e.Window)
	if e.Form == RatioBias {
		// δ = clip(ln(p_min/(p_new + 10⁻⁸)), 0, δ_max)·(1 − t/T)
		ofAll := logSumExp(z, nil)
		if math.Exp(ofNew-ofAll) >= e.Target {
			return 0
		}
		return clamp(math.Log(e.Target/(math.Exp(ofNew-ofAll)+1e-8)), 0, e.MaxBias) * left
	}
	// δ = max(0, logit(τ_t) − logit(p_new)), τ_t = τ₀·(1 − t/T). The odds of the new skills
	// increase by e^δ, so this is the exact minimum.
	target := clamp(e.Target*left, 0, 1)
	return clamp(math.Log(target)-math.Log1p(-target)-(ofNew-ofKnown), 0, e.MaxBias)
}

func clamp(x, low, high float64) float64 { return max(low, min(x, high)) }

// addBias adds δ to the logits of the new skills.
func addBias(z []float64, fresh []bool, bias float64) {
	for i, is := range fresh {
		if is {
			z[i] += bias
		}
	}
}

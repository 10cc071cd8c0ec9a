package policy

import (
	"math"
	"slices"
)

// logSumExp returns ln Σ exp(z_i) over the i that skip does not exclude, and −∞ if none is left.
// skip may be nil.
func logSumExp(z []float64, skip []bool) float64 {
	top, rest := logNorm(z, skip)
	return top + rest
}

// logNorm returns logSumExp in two parts: the largest z_i and the rest. The sum of both would lose
// the rest for large logits.
func logNorm(z []float64, skip []bool) (top, rest float64) {
	top = math.Inf(-1)
	for i, x := range z {
		if skip == nil || !skip[i] {
			top = max(top, x)
		}
	}
	if math.IsInf(top, 0) {
		return top, 0
	}
	sum := 0.0
	for i, x := range z {
		if skip == nil || !skip[i] {
			sum += math.Exp(x - top)
		}
	}
	return top, math.Log(sum)
}

// Softmax returns the probability of each logit. It is 0 for −∞, which masks a logit. If all are
// masked, all are 0.
func Softmax(z []float64) []float64 {
	p := make([]float64, len(z))
	top, rest := logNorm(z, nil)
	if math.IsInf(top, -1) {
		return p
	}
	for i, x := range z {
		p[i] = math.Exp(x - top - rest)
	}
	return p
}

// Entropy returns −Σ p·ln p of the softmax over all logits, in nats. It is the entropy of one draw,
// not of the Top-K.
func Entropy(z []float64) float64 {
	h := 0.0
	top, rest := logNorm(z, nil)
	for _, x := range z {
		if l := x - top - rest; math.Exp(l) > 0 {
			h -= math.Exp(l) * l
		}
	}
	return h
}

// addEntropyGradient adds weight·∂H/∂z_i = −weight·p_i·(ln p_i + H).
func addEntropyGradient(z []float64, weight float64, gradient []float64) {
	h := Entropy(z)
	top, rest := logNorm(z, nil)
	for i, x := range z {
		if l := x - top - rest; math.Exp(l) > 0 {
			gradient[i] -= weight * math.Exp(l) * (l + h)
		}
	}
}

// Diagnostics describe the certainty of a choice. They are logged and have no effect.
type Diagnostics struct {
	Mass          float64 `json:"mass"`           // m, probability of the chosen under one draw, 0–1
	Selected      float64 `json:"selected"`       // entropy of the chosen's probabilities, divided by m, in nats
	BinaryEntropy float64 `json:"binary_entropy"` // entropy of (m, 1−m), in nats
}

// Diagnose returns the diagnostics of a choice among logits.
func Diagnose(z []float64, chosen []int) Diagnostics {
	p := Softmax(z)
	var d Diagnostics
	for _, i := range chosen {
		d.Mass += p[i]
	}
	for _, i := range chosen {
		d.Selected += surprise(p[i] / d.Mass)
	}
	d.BinaryEntropy = surprise(d.Mass) + surprise(1-d.Mass)
	return d
}

// Diagnostics returns the diagnostics of the choice, including its bias.
func (d Decision) Diagnostics() (Diagnostics, error) {
	chosen, err := d.indices(d.Chosen)
	if err != nil {
		return Diagnostics{}, err
	}
	biased, err := d.indices(d.Fresh)
	if err != nil {
		return Diagnostics{}, err
	}
	z := slices.Clone(d.Logits)
	for _, i := range biased {
		z[i] += d.Bias
	}
	return Diagnose(z, chosen), nil
}

// DiagnoseAll returns the means over the decisions of a batch, 0 without decisions.
func DiagnoseAll(episodes []Episode) (mean Diagnostics, err error) {
	n := 0.0
	for _, e := range episodes {
		for _, d := range e.Decisions {
			one, err := d.Diagnostics()
			if err != nil {
				return mean, err
			}
			mean.Mass, mean.Selected, mean.BinaryEntropy, n = mean.Mass+one.Mass, mean.Selected+one.Selected,
				mean.BinaryEntropy+one.BinaryEntropy, n+1
		}
	}
	n = max(1, n)
	return Diagnostics{mean.Mass / n, mean.Selected / n, mean.BinaryEntropy / n}, nil
}

// surprise returns −p·ln p, and zero outside (0, 1), which rounding can reach.
func surprise(p float64) float64 {
	if !(p > 0 && p < 1) {
		return 0
	}
	return -p * math.Log(p)
}

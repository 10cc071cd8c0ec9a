package policy

import (
	"math"
	"slices"
)

// logSumExp is ln Σ exp(z_i) over the i that skip does not hold back, −∞ when
// none is left. skip may be nil.
func logSumExp(z []float64, skip []bool) float64 {
	top, rest := logNorm(z, skip)
	return top + rest
}

// logNorm is logSumExp in two parts, the largest z_i and what the others add: of
// large logits the sum of both would lose the second.
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

// Softmax is the probability of each logit, 0 of −∞, which masks it. When all are
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

// Entropy is −Σ p·ln p of the softmax over all logits, in nats: that of one
// draw, not of the Top-K.
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

// Diagnostics describe how decided a choice was; they are logged and drive
// nothing.
type Diagnostics struct {
	Mass          float64 `json:"mass"`           // m, probability of the chosen under one draw, 0–1
	Selected      float64 `json:"selected"`       // entropy of the chosen's probabilities, divided by m, in nats
	BinaryEntropy float64 `json:"binary_entropy"` // entropy of (m, 1−m), in nats
}

// Diagnose looks at a choice among logits.
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

// Diagnostics are those of the choice, with the bias that it was made with.
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

// DiagnoseAll are the means over the decisions of a batch, 0 without any.
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

// surprise is −p·ln p, zero outside (0, 1), where rounding can lead.
func surprise(p float64) float64 {
	if !(p > 0 && p < 1) {
		return 0
	}
	return -p * math.Log(p)
}

package policy

import "math"

// Losses are mean values over decisions.
type Losses struct {
	Total   float64 `json:"total"`
	Policy  float64 `json:"policy"`
	Value   float64 `json:"value"`   // ½(V−G)², without its coefficient
	Entropy float64 `json:"entropy"` // of the distribution without bias, in nats
	KL      float64 `json:"kl"`      // mean(old − new), an estimate that can be negative
	Clipped float64 `json:"clipped"` // share of ratios outside the clip, 0–1
}

func (l *Losses) add(o Losses, weight float64) {
	l.Total += weight * o.Total
	l.Policy += weight * o.Policy
	l.Value += weight * o.Value
	l.Entropy += weight * o.Entropy
	l.KL += weight * o.KL
	l.Clipped += weight * o.Clipped
}

// lossBuffers have the length of the longest list of candidates.
type lossBuffers struct {
	z, dz []float64
	taken []bool
}

func newLossBuffers(skills int) *lossBuffers {
	return &lossBuffers{z: make([]float64, skills), dz: make([]float64, skills), taken: make([]bool, skills)}
}

// loss returns the losses of step t of the batch. Its inputs are the network's logits for all
// skills and its value:
//
//	loss = −min(ρA, clip(ρ)A) + c_v·½(V−G)² − c_H·H,  ρ = exp(log π − log π_old)
//
// See Schulman et al. 2017, eq. 7 and 9. It adds weight times the gradient to dLogits and dValue.
// The exploration bias is that of the decision and constant.
func (p PPO) loss(b *batch, t int, logits []float64, value, weight float64, dLogits []float64, dValue *float64,
	buffers *lossBuffers) Losses {
	columns := b.columns[t]
	z, dz, taken := buffers.z[:len(columns)], buffers.dz[:len(columns)], buffers.taken[:len(columns)]
	for i, c := range columns {
		z[i] = logits[c]
	}
	addBias(z, b.fresh[t], b.bias[t])
	clear(dz)

	advantage := b.advantages[t]
	current := logProb(z, b.chosen[t], taken)
	ratio := math.Exp(current - b.old[t])
	clipped := clamp(ratio, 1-p.Clip, 1+p.Clip)
	l := Losses{KL: b.old[t] - current, Entropy: Entropy(z)}
	if ratio*advantage <= clipped*advantage {
		l.Policy = -ratio * advantage
		addLogProbGradient(z, b.chosen[t], -weight*ratio*advantage, taken, dz)
	} else {
		l.Policy = -clipped * advantage // constant with respect to the weights
	}
	if ratio != clipped {
		l.Clipped = 1
	}
	addEntropyGradient(z, -weight*p.EntropyCoef, dz)
	if b.credited[t] {
		var slope float64
		l.Value, slope = p.valueLoss(value, b.values[t], b.returns[t])
		*dValue += weight * p.ValueCoef * slope
	}
	l.Total = l.Policy + p.ValueCoef*l.Value - p.EntropyCoef*l.Entropy
	for i, c := range columns {
		dLogits[c] += dz[i]
	}
	return l
}

// valueLoss returns ½(V−G)² and its derivative by V. With ValueClip c > 0, it is the maximum of
// that and ½(V_old + clip(V−V_old, ±c) − G)², as in the reference implementation of PPO.
func (p PPO) valueLoss(value, old, target float64) (loss, slope float64) {
	miss := value - target
	loss, slope = miss*miss/2, miss
	if p.ValueClip <= 0 {
		return loss, slope
	}
	near := old + clamp(value-old, -p.ValueClip, p.ValueClip)
	if other := (near - target) * (near - target) / 2; other > loss {
		if near != value {
			return other, 0
		}
		return other, near - target
	}
	return loss, slope
}

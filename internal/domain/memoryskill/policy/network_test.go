package policy

import (
	"math"
	"slices"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// waves fills a policy with numbers of either sign: w[i][j] = .6·sin(1+3i+5j+s),
// b[i] = .2·cos(2i+s), s = 47.5 + number of the layer.
func waves(shape Shape) Policy {
	p := Policy{shape: shape, weights: make([]float64, shape.Weights())}
	v := shape.view(p.weights)
	for n, l := range []linear{v.state1, v.state2, v.skill1, v.skill2, v.critic1, v.critic2} {
		s := 47.5 + float64(n)
		for i := range l.weights.rows {
			for j := range l.weights.cols {
				row(l.weights, i)[j] = .6 * math.Sin(1+3*float64(i)+5*float64(j)+s)
			}
			l.bias[i] = .2 * math.Cos(2*float64(i)+s)
		}
	}
	v.scale[0] = shape.Scale
	return p
}

// oneStep returns a batch of one decision with a given advantage and return.
func oneStep(state []float64, skills [][]float64, chosen []int, old, advantage, target float64) *batch {
	b := &batch{
		states: newMatrix(1, len(state)), skills: newMatrix(len(skills), len(skills[0])),
		chosen: [][]int{chosen}, fresh: [][]bool{make([]bool, len(skills))}, bias: []float64{0},
		old: []float64{old}, values: []float64{0}, advantages: []float64{advantage}, returns: []float64{target},
		credited: []bool{true},
	}
	copy(b.states.data, state)
	columns := make([]int, len(skills))
	for i, s := range skills {
		copy(row(b.skills, i), s)
		columns[i] = i
	}
	b.columns = [][]int{columns}
	return b
}

// The expected numbers are those of another program, which computes the formulas with lists and
// takes the derivatives as differences.
func TestForwardAndBackward(t *testing.T) {
	t.Parallel()
	policy := waves(TowerShape(2, 4))
	b := oneStep([]float64{.8, -.6, .3, .4}, [][]float64{{1, 0}, {0, 1}, {-.6, .8}, {.6, -.8}}, []int{2, 0}, -2.4, .7,
		.9)
	ppo := DefaultPPO()
	ppo.EntropyCoef = 0.01
	trainer := newTrainer(policy, Adam{}, b, ppo)
	losses := trainer.minibatch([]int{0})

	logits := row(trainer.net.logits, 0)
	nearAll(t, "logits", logits, []float64{-.243781113, .202534746, .133793396, -.366693414})
	near(t, "value", trainer.net.value.data[0], -.065057479)
	near(t, "log π", LogProb(logits, []int{2, 0}), -2.450279922)
	near(t, "ratio", math.Exp(-losses.KL), .950963192)
	near(t, "loss", losses.Total, -.446421288)
	g := policy.shape.view(trainer.gradient)
	near(t, "∂s1w[1][1]", row(g.state1.weights, 1)[1], -.0666306)
	near(t, "∂k1w[2][1]", row(g.skill1.weights, 2)[1], -.1877384)
	near(t, "∂k2w[0][3]", row(g.skill2.weights, 0)[3], -.0161534)
	near(t, "∂c2b", g.critic2.bias[0], -.4825287)
	if norm := clipNorm(trainer.gradient, .5); math.Abs(norm-.8305294) > 1e-5 {
		t.Errorf("gradient norm = %.7f, want .8305294", norm)
	}
	if norm := clipNorm(trainer.gradient, 0); math.Abs(norm-.5) > 1e-5 {
		t.Errorf("clipped norm = %.7f, want .5", norm)
	}
}

// Each weight's gradient is compared with the central difference of the loss, on a minibatch with
// different candidates, biases, clipped ratios and a step without credit.
func TestGradientsAreThoseOfTheLoss(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]Shape{"tower": TowerShape(3, 5), "dot": DotShape(3, 5)} {
		for _, valueClip := range []float64{0, .3} {
			policy, err := NewPolicy(shape, keyedrand.Key{Run: "gradients"})
			if err != nil {
				t.Fatal(err)
			}
			p := DefaultPPO()
			p.ValueClip = valueClip
			trainer := newTrainer(policy, Adam{}, variedBatch(), p)
			all := []int{0, 1, 2, 3, 4, 5}
			trainer.minibatch(all)
			gradient, weights := slices.Clone(trainer.gradient), trainer.policy.weights
			const step = 1e-5
			for i := range weights {
				if i == len(weights)-1 {
					if gradient[i] != 0 {
						t.Errorf("%s: the fixed scale has gradient %v", name, gradient[i])
					}
					continue
				}
				at := weights[i]
				weights[i] = at + step
				above := trainer.minibatch(all).Total
				weights[i] = at - step
				below := trainer.minibatch(all).Total
				weights[i] = at
				if want := (above - below) / (2 * step); math.Abs(gradient[i]-want) > 1e-7*max(1, math.Abs(want))+1e-8 {
					t.Errorf("%s, value clip %v: ∂loss/∂w[%d] = %.10f, the difference is %.10f", name, valueClip, i,
						gradient[i], want)
				}
			}
		}
	}
}

// variedBatch has six decisions over five skills of three dimensions.
func variedBatch() *batch {
	stream := keyedrand.Key{Purpose: "varied batch"}.Stream()
	b := &batch{
		states: newMatrix(6, 6), skills: newMatrix(5, 3),
		columns: [][]int{{0, 1, 2, 3, 4}, {0, 2, 4}, {1, 3}, {4}, {0, 1, 2, 3}, {1, 2, 3, 4}},
		chosen:  [][]int{{3, 0, 1}, {2, 0}, {1, 0}, {0}, {1, 3}, {0, 2, 3}},
		fresh: [][]bool{{false, true, false, false, true}, make([]bool, 3), {true, false}, {false},
			make([]bool, 4), make([]bool, 4)},
		bias:       []float64{1.3, 0, .4, 0, 0, 0},
		old:        []float64{-4.1, -1.9, -.7, 0, -9, -.5}, // the last two are far outside the clip
		values:     []float64{.1, -.9, .2, .5, 0, .3},
		advantages: []float64{1.1, -.6, .8, 0, .9, -1.4},
		returns:    []float64{.9, .1, .4, 0, .6, -.2},
		credited:   []bool{true, true, true, false, true, true},
	}
	for _, m := range []matrix{b.states, b.skills} {
		for i := range m.data {
			m.data[i] = stream.Normal()
		}
	}
	return b
}

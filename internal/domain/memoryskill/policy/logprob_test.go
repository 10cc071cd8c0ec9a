package policy

import (
	"math"
	"testing"

	"cairn/internal/domain/memoryskill/keyedrand"
)

const tolerance = 1e-6

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.9f, want %.9f", what, got, want)
	}
}

func nearAll(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Errorf("%s[%d] = %.9f, want %.9f", what, i, got[i], want[i])
		}
	}
}

var fiveLogits = []float64{1.2, -0.3, 0.7, 0, -1.5}

// orders calls f with every ordered choice of k of n.
func orders(n, k int, f func([]int)) {
	var choose func([]int)
	choose = func(chosen []int) {
		if len(chosen) == k {
			f(chosen)
			return
		}
		for i := range n {
			if next := append(chosen[:len(chosen):len(chosen)], i); validChoice(next, n) {
				choose(next)
			}
		}
	}
	choose(nil)
}

func TestLogProbOfAnOrderedChoice(t *testing.T) {
	t.Parallel()
	z := fiveLogits
	nearAll(t, "p", Softmax(z), []float64{.454946522, .101512290, .275939014, .137027259, .030574914})
	near(t, "entropy", Entropy(z), 1.324798323)
	near(t, "(2,0,3)", LogProb(z, []int{2, 0, 3}), -2.427228073)
	near(t, "(0,2,3)", LogProb(z, []int{0, 2, 3}), -2.143236364)
	near(t, "(2)", LogProb(z, []int{2}), -1.287575401)
	near(t, "(2,0,3,1,4)", LogProb(z, []int{2, 0, 3, 1, 4}), -2.690510540)
	near(t, "{0,2,3}", math.Exp(LogProbSet(z, []int{0, 2, 3})), .406185218)
	d := Diagnose(z, []int{2, 0, 3})
	near(t, "mass", d.Mass, .867912795)
	near(t, "entropy of the selected", d.Selected, .994336022)
	near(t, "binary entropy", d.BinaryEntropy, .390335224)
	sum := 0.0
	orders(5, 3, func(chosen []int) { sum += math.Exp(LogProb(z, chosen)) })
	near(t, "sum over ordered triples", sum, 1)
}

func TestLogProbIsExactForAConfidentPolicy(t *testing.T) {
	t.Parallel()
	near(t, "(0,1)", LogProb([]float64{30, 0, -1}, []int{0, 1}), -0.313262)
	if got := LogProb([]float64{800, 0, -800}, []int{0, 1, 2}); got != 0 {
		t.Errorf("a certain order has log-probability %v", got)
	}
}

func TestLogProbSetSumsThePermutations(t *testing.T) {
	t.Parallel()
	z := []float64{2, -1, 0.5, 0.1, -3, 1}
	sum := 0.0
	orders(6, 4, func(chosen []int) {
		for _, i := range chosen {
			if i == 1 || i == 4 {
				return
			}
		}
		sum += math.Exp(LogProb(z, chosen))
	})
	near(t, "{0,2,3,5}", math.Exp(LogProbSet(z, []int{3, 0, 5, 2})), sum)
}

// Choices of two among the logits 0, ln 2, ln 3 have these probabilities.
func TestTopKHasItsExactLaw(t *testing.T) {
	t.Parallel()
	z := []float64{0, math.Log(2), math.Log(3)}
	want := map[[2]int]float64{{2, 1}: 1. / 3, {1, 2}: 1. / 4, {2, 0}: 1. / 6, {0, 2}: 1. / 10, {1, 0}: 1. / 12,
		{0, 1}: 1. / 15}
	const n = 200_000
	counts, inclusion := map[[2]int]int{}, [3]float64{}
	for i := range n {
		chosen := SampleTopK(z, []string{"a", "b", "c"}, 2, keyedrand.Key{Iteration: i})
		counts[[2]int(chosen)]++
		for _, c := range chosen {
			inclusion[c] += 1. / n
		}
	}
	for pair, p := range want {
		near(t, "probability", math.Exp(LogProb(z, pair[:])), p)
		if share := float64(counts[pair]) / n; math.Abs(share-p) > .005 {
			t.Errorf("%v was drawn with frequency %.4f, want %.4f", pair, share, p)
		}
	}
	for i, p := range []float64{5. / 12, 11. / 15, 17. / 20} {
		if math.Abs(inclusion[i]-p) > .005 {
			t.Errorf("%d was included with frequency %.4f, want %.4f", i, inclusion[i], p)
		}
	}
}

func TestTopKTakesWhatThereIs(t *testing.T) {
	t.Parallel()
	if got := TopK([]float64{1, 3, 3, 2}, 3); got[0] != 1 || got[1] != 2 || got[2] != 3 || len(got) != 3 {
		t.Errorf("the top three are %v; equal scores keep their order", got)
	}
	if got := SampleTopK([]float64{1, 2}, []string{"a", "b"}, 7, keyedrand.Key{}); !validChoice(got, 2) ||
		len(got) != 2 {
		t.Errorf("seven of two are %v", got)
	}
}

func TestNoiseOfASkillDoesNotDependOnTheOthers(t *testing.T) {
	t.Parallel()
	key := keyedrand.Key{Run: "r", Span: 4}
	changed := 0
	for i := range 200 {
		key.Iteration = i
		two := SampleTopK([]float64{0, 0}, []string{"a", "c"}, 2, key)
		three := SampleTopK([]float64{0, -1e9, 0}, []string{"a", "b", "c"}, 2, key)
		if (two[0] == 0) != (three[0] == 0) {
			changed++
		}
	}
	if changed > 0 {
		t.Errorf("a hopeless third skill changed %d of 200 draws", changed)
	}
}

func TestAConstantOnTheLogitsChangesNothing(t *testing.T) {
	t.Parallel()
	z, shifted := fiveLogits, make([]float64, 5)
	for i, x := range z {
		shifted[i] = x + 137.5
	}
	chosen, taken := []int{2, 0, 3}, make([]bool, 5)
	near(t, "log π", LogProb(shifted, chosen), LogProb(z, chosen))
	near(t, "entropy", Entropy(shifted), Entropy(z))
	gradient, other := make([]float64, 5), make([]float64, 5)
	addLogProbGradient(z, chosen, 1, taken, gradient)
	addEntropyGradient(z, 1, gradient)
	addLogProbGradient(shifted, chosen, 1, taken, other)
	addEntropyGradient(shifted, 1, other)
	nearAll(t, "gradient", other, gradient)
	sum := 0.0
	for _, g := range gradient {
		sum += g
	}
	near(t, "sum of the gradient", sum, 0)
}

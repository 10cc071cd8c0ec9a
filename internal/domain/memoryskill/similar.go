package memoryskill

import (
	"fmt"
	"math"
	"strings"

	"cairn/internal/domain/fault"
)

// maxCosine of two descriptions with one action makes the skills duplicates.
const maxCosine = 0.95

// CheckDistinct refuses a new skill whose description, by its vector, says what a
// skill of the bank with the same action says. vectors is by version id, and
// ought to have all of the bank's. A refinement is compared with nothing: it is
// meant to be close.
func CheckDistinct(b Bank, s Skill, vector []float64, vectors map[string][]float64) error {
	closest, name := maxCosine, ""
	for _, v := range b.versions {
		if v.Skill.Action != ParseAction(string(s.Action)) || v.Skill.Name == strings.TrimSpace(s.Name) {
			continue
		}
		if c := cosine(vector, vectors[v.ID]); c > closest {
			closest, name = c, v.Skill.Name
		}
	}
	if name == "" {
		return nil
	}
	return fault.New(fault.DuplicateSuspect,
		fmt.Sprintf("skill %q says what %q says (similarity %.2f)", line(s.Name), name, closest),
		fmt.Sprintf("refine %q instead, or describe what is different", name)).With("existing", name)
}

// cosine is 0 for vectors of different length, such as a missing one.
func cosine(a, b []float64) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		dot += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

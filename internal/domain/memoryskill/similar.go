package memoryskill

import (
	"fmt"
	"math"
	"strings"

	"cairn/internal/domain/fault"
)

// maxCosine is the similarity above which two skills of one action are duplicates.
const maxCosine = 0.95

// CheckDistinct rejects a new skill whose description is too similar to that of a skill with the
// same action. vector is the embedding of its description. vectors are those of the bank by version
// ID. Refinements are not checked, because they are meant to be similar.
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
		fmt.Sprintf("skill %q repeats skill %q (similarity %.2f)", line(s.Name), name, closest),
		fmt.Sprintf("refine %q instead, or describe the difference", name)).With("existing", name)
}

// cosine returns 0 for vectors of different length, such as a missing one.
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

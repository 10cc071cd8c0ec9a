package chaos

import (
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/app/config"
)

// The experiment counts skills by theme. Themes must be different enough to be different
// skills, and an alias similar enough to be the same skill.
func TestThemesAreDistinctSkillsAndAliasesAreNot(t *testing.T) {
	t.Parallel()
	c, err := config.Load([]string{"CAIRN_CONFIG=/dev/null"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := func(t theme, name string) string {
		return strings.Join([]string{name, t.description, strings.Join(t.trigger, ", "),
			strings.TrimSpace(t.procedure)}, "\n")
	}
	var texts []string
	for _, th := range themes {
		texts = append(texts, text(th, th.title), text(th, th.alias))
	}
	vectors, err := embedding.Hashing(c.EmbeddingDimensions).Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range themes {
		if sim := dot(vectors[2*i], vectors[2*i+1]); sim < c.MergeSim {
			t.Errorf("%s and its alias: cosine %.2f, the product merges from %.2f", a.title, sim, c.MergeSim)
		}
		for j, b := range themes[:i] {
			for _, other := range []int{2 * j, 2*j + 1} {
				if sim := dot(vectors[2*i], vectors[other]); sim > c.MergeSim-0.05 {
					t.Errorf("%s and %s: cosine %.2f, the product merges from %.2f", a.title, b.title, sim, c.MergeSim)
				}
			}
		}
	}
}

func TestRequestsFollowFromTheSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) []request { return requests(50, 10, rand.New(rand.NewPCG(seed, 0))) }
	same := func(a, b []request) bool {
		for i := range a {
			if len(a[i].lessons) != len(b[i].lessons) || len(a[i].lessons) > 0 &&
				a[i].lessons[0].text != b[i].lessons[0].text {
				return false
			}
		}
		return true
	}
	if !same(draw(1), draw(1)) || same(draw(1), draw(2)) {
		t.Error("the same seed must give the same requests, another one others")
	}
	taught := map[string]bool{}
	for _, r := range draw(1) {
		for _, l := range r.lessons {
			if taught[l.text] {
				t.Errorf("%q is taught twice", l.text)
			}
			taught[l.text] = true
		}
	}
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

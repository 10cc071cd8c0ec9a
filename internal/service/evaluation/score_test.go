package evaluation

import (
	"math"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %.9f, want %.9f", what, got, want)
	}
}

// The published vectors.
func TestF1(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prediction, gold string
		want             float64
	}{
		{"The painting of a sunset", "paintings of sunsets", 1}, {"May 7, 2023", "7 May 2023", 1},
		{"Caroline's adoption agency", "adoption agencies", .8},
		{"New York,Boston", "Boston New York", .4}, {"yes yes no", "yes no no", 2.0 / 3}, {"He was dying", "die", .5},
		{"the", "a", 0}, {"", "x", 0}, {"", "", 0},
		{"café visits", "cafe visits", .5}, {Failed, "error", 0},
	} {
		near(t, c.prediction+"/"+c.gold, F1(c.prediction, c.gold), c.want)
	}
	near(t, "parts", F1Parts("pottery, camping, painting", "camping, swimming"), .5)
	near(t, "parts with an article", F1Parts("a, dogs", "dog"), 1)
	near(t, "the best of several", F1Any("Boston", []string{"New York", "Boston"}), 1)
}

func TestStemsAreThoseOfNLTK(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{"enjoy": "enjoy", "flies": "fli", "dies": "die",
		"generalization": "gener", "died": "die", "tried": "tri", "agencies": "agenc", "agreed": "agre",
		"hopping": "hop", "hoping": "hope", "falling": "fall", "relational": "relat", "geology": "geolog",
		"adoption": "adopt", "skies": "sky", "at": "at", "happy": "happi",
		"hopefulness": "hope", "rate": "rate", "controlling": "control"} {
		if got := Stem(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

// Dropping most of a passage's content words changes the score; dropping stop words does not.
func TestEvidenceIsHeldByItsWordsAndNotByItsID(t *testing.T) {
	t.Parallel()
	passage := Content("I went to the pottery workshop in Bergen last Friday")
	if !Held(passage, []Bag{Content("went pottery workshop Bergen last Friday")}) {
		t.Error("a compact item is not taken for its passage")
	}
	if Held(passage, []Bag{Content("went pottery"), Content("Bergen")}) {
		t.Error("pieces are taken for the passage")
	}
	if _, known := (Bag{}).Share(passage); known {
		t.Error("a passage without words has a share")
	}
}

func TestSuccessOfNothingIsUnknown(t *testing.T) {
	t.Parallel()
	if rate, known := Success([]bool{true, false, true, true}); rate != .75 || !known {
		t.Errorf("%v, %v", rate, known)
	}
	if _, known := Success(nil); known {
		t.Error("no task has a rate")
	}
}

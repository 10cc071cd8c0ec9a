package openaitest

import "testing"

func TestSynonymsAreCloserThanOtherWords(t *testing.T) {
	t.Parallel()
	groups := [][]string{{"car", "automobile"}, {"医生", "大夫"}}
	cosine := func(a, b string) float64 {
		x, y := Embedding(withConcepts(a, groups), 512), Embedding(withConcepts(b, groups), 512)
		sum := 0.0
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	if near := cosine("my automobile", "the blue car"); near < 0.8 {
		t.Errorf("synonyms have cosine %.2f", near)
	}
	if near := cosine("那位医生", "他找大夫"); near < 0.6 {
		t.Errorf("Chinese synonyms have cosine %.2f", near)
	}
	if far := cosine("my automobile", "the carpet"); far > 0.1 {
		t.Errorf("a part of a word is a synonym: cosine %.2f", far)
	}
}

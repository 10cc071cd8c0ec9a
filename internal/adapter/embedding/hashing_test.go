package embedding_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"cairn/internal/adapter/embedding"
)

func embedAll(t *testing.T, embedder embedding.Embedder, texts ...string) [][]float32 {
	t.Helper()
	vectors, err := embedder.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors
}

func cosine(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestHashingVectorsHaveUnitLength(t *testing.T) {
	t.Parallel()
	for _, dims := range []int{1, 64, embedding.DefaultDims} {
		embedder := embedding.Hashing(dims)
		for i, vector := range embedAll(t, embedder, "Roll back to r41", "", "   ", "the of", "🎉", "退款", "\xff") {
			if len(vector) != dims || math.Abs(cosine(vector, vector)-1) > 1e-5 {
				t.Errorf("dims %d, text %d: %d numbers of length² %f", dims, i, len(vector), cosine(vector, vector))
			}
		}
	}
	if embedder := embedding.Hashing(0); embedder.Dims() != embedding.DefaultDims || embedder.Model() != "hashing-v1" {
		t.Errorf("default: %s, %d", embedder.Model(), embedder.Dims())
	}
}

func TestHashingRanksByMeaningOfTheWords(t *testing.T) {
	t.Parallel()
	embedder := embedding.Hashing(0)
	for _, test := range []struct{ query, near, far string }{
		{"deploy the service", "service deployment failed", "my cat likes fish"},
		{"Deployments", "deploying", "departure"},
		{"getUserDetails", "the user details", "order history"},
		{"退款流程", "请处理退款", "今天天气很好"},
		{"ＲＯＬＬＢＡＣＫ", "rollback", "roll call"},
	} {
		v := embedAll(t, embedder, test.query, test.near, test.far)
		if near, far := cosine(v[0], v[1]), cosine(v[0], v[2]); near <= far+0.1 {
			t.Errorf("%q: %q at %.3f, %q at %.3f", test.query, test.near, near, test.far, far)
		}
	}
	if v := embedAll(t, embedder, "猫坐在垫子上", "quarterly tax report"); math.Abs(cosine(v[0], v[1])) > 0.25 {
		t.Errorf("unrelated texts are at %.3f", cosine(v[0], v[1]))
	}
}

func TestHashingIsReproducible(t *testing.T) {
	t.Parallel()
	const text = "Caroline went to the LGBTQ support group on 7 May; 北京 r41 r41"
	first := embedAll(t, embedding.Hashing(0), text)[0]
	for range 20 {
		if !slices.Equal(first, embedAll(t, embedding.Hashing(0), text)[0]) {
			t.Fatal("the same text gave another vector")
		}
	}
	// Stored vectors must stay comparable: a change here needs a new model name. The last digits
	// may differ between CPU architectures.
	want := []float32{0.131123, -0.695849, 0.262245, -0.655613}
	for i, got := range embedAll(t, embedding.Hashing(4), "rollback r41 退款")[0] {
		if math.Abs(float64(got-want[i])) > 1e-5 {
			t.Errorf("number %d is %f, want %f: rename the space", i, got, want[i])
		}
	}
}

func TestHashingStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := embedding.Hashing(0).Embed(ctx, []string{"x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkHashing(b *testing.B) {
	embedder := embedding.Hashing(0)
	texts := []string{"Caroline went to the support group on 7 May and felt welcome there, she told Melanie."}
	for b.Loop() {
		_, _ = embedder.Embed(b.Context(), texts)
	}
}

package retrieval_test

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"cairn/internal/adapter/postgres/pgtest"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/service/evaluation/locomo"
	"cairn/internal/service/evaluation/retrieval"
	"cairn/internal/testkit"
)

// Two public conversations show that retrieval works; `cairn eval retrieval` measures all.
func TestRetrievalBeatsPlainBM25OnLoCoMo(t *testing.T) {
	t.Parallel()
	path := samples.Public("locomo/locomo8.json")
	if path == "" {
		t.Skip("public data is absent, set CAIRN_DATA")
	}
	talks, err := locomo.Open(path)
	testkit.Must(t, err)
	c, err := config.Load([]string{"CAIRN_HOME=" + t.TempDir(), "CAIRN_CONFIG=" + os.DevNull},
		map[string]string{"DATABASE_URL": pgtest.Database(t), "CAIRN_LOG": "error"})
	testkit.Must(t, err)
	h, err := app.Open(context.Background(), c, slog.Default())
	testkit.Must(t, err)
	t.Cleanup(h.Close)
	talks = talks[:2]
	for i := range talks {
		talks[i].Questions = talks[i].Questions[:40]
	}
	r, err := retrieval.Measure(t.Context(), h.Retrieval(), talks)
	testkit.Must(t, err)
	t.Logf("%+v", r)
	if r.Questions < 60 || r.At10 < r.Baseline.At10+0.1 || r.At10 < 0.7 || r.At5 > r.At10 || r.At10 > r.At20 {
		t.Errorf("recall@10 %.3f over %d questions, plain BM25 %.3f", r.At10, r.Questions, r.Baseline.At10)
	}
	all := 0
	for _, of := range r.Categories {
		all += of.Questions
	}
	if all != r.Questions || r.Turns != len(talks[0].Conversation.Messages)+len(talks[1].Conversation.Messages) {
		t.Errorf("%d questions in categories, %d in all; %d turns", all, r.Questions, r.Turns)
	}
}

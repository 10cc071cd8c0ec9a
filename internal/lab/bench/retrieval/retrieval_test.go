package retrieval_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/lexical"
	"cairn/internal/lab/bench/retrieval"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/testkit"
)

// open opens a Cairn over a fresh database.
func open(t *testing.T, settings map[string]string) *app.App {
	t.Helper()
	all := map[string]string{"DATABASE_URL": pgtest.Database(t), "CAIRN_LOG": "error"}
	maps.Copy(all, settings)
	c, err := config.Load([]string{"CAIRN_HOME=" + t.TempDir(), "CAIRN_CONFIG=" + os.DevNull}, all)
	testkit.Must(t, err)
	h, err := app.Open(context.Background(), c, slog.Default())
	testkit.Must(t, err)
	t.Cleanup(h.Close)
	return h
}

func run(t *testing.T, of retrieval.Cairn, o retrieval.Options) retrieval.Report {
	t.Helper()
	r, err := retrieval.Run(t.Context(), of, o)
	testkit.Must(t, err)
	if len(r.Ranks) == 0 || r.DataHash == "" || r.SettingsHash == "" || r.P99 == 0 {
		t.Errorf("the report of %s is incomplete: %d ranks, %+v", o.Suite, len(r.Ranks), r.Rows)
	}
	return r
}

func public(t *testing.T) string {
	t.Helper()
	path := samples.Public("locomo/locomo8.json")
	if path == "" {
		t.Skip("public data is absent, set CAIRN_DATA")
	}
	return path
}

// shortened writes the first conversations of a LoCoMo file with their first questions.
func shortened(t *testing.T, conversations, questions int) string {
	t.Helper()
	raw, err := os.ReadFile(public(t))
	testkit.Must(t, err)
	var all []map[string]json.RawMessage
	testkit.Must(t, json.Unmarshal(raw, &all))
	all = all[:min(conversations, len(all))]
	for _, one := range all {
		var qa []json.RawMessage
		testkit.Must(t, json.Unmarshal(one["qa"], &qa))
		one["qa"], err = json.Marshal(qa[:min(questions, len(qa))])
		testkit.Must(t, err)
	}
	raw, err = json.Marshal(all)
	testkit.Must(t, err)
	path := filepath.Join(t.TempDir(), "talks.json")
	testkit.Must(t, os.WriteFile(path, raw, 0o644))
	return path
}

// Two public conversations show that retrieval works; `cairn-bench retrieval` measures all.
func TestRetrievalBeatsPlainBM25OnLoCoMo(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := open(t, nil)
	r := run(t, retrieval.Of(h, false), retrieval.Options{Suite: retrieval.LoCoMo, Data: shortened(t, 2, 40)})
	if r.Questions < 60 || r.At10 < r.Baseline.At10+0.1 || r.At10 < 0.7 || r.At5 > r.At10 || r.At10 > r.At20 {
		t.Errorf("recall@10 %.3f over %d questions, plain BM25 %.3f", r.At10, r.Questions, r.Baseline.At10)
	}
	all := 0
	for _, of := range r.Categories {
		all += of.Questions
	}
	if all != r.Questions || len(r.Ranks) != r.Questions || r.Score != r.At10 {
		t.Errorf("%d questions in categories, %d ranks, %d in all; score %f", all, len(r.Ranks), r.Questions, r.Score)
	}
}

func TestOtherConversationsCostLittleRecall(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	cairn := retrieval.Of(open(t, nil), false)
	r := run(t, cairn, retrieval.Options{Suite: retrieval.Distractors, Data: public(t)})
	if r.At10 < r.Baseline.At10-0.03 || r.Versus == nil || r.Versus.Delta < -0.03 ||
		r.Versus.Questions != r.Questions {
		t.Errorf("recall@10 %.4f, alone %.4f: %+v", r.At10, r.Baseline.At10, r.Versus)
	}
}

// Of many rows that share their words, the one that a question is about comes first.
func TestEachNeedleComesFirst(t *testing.T) {
	t.Parallel()
	size := 5000
	if !testing.Short() {
		size = 20_000
	}
	cairn := retrieval.Of(open(t, nil), true)
	r := run(t, cairn, retrieval.Options{Suite: retrieval.Needle, Sizes: []int{size}, Seed: 3})
	for _, q := range r.Ranks {
		if q.Score != 1 {
			t.Errorf("%s, %q has ranks %v", q.ID, q.Text, q.Ranks)
		}
	}
	if len(r.Ranks) != 120 || len(r.Rows) != 2 || r.Score != 1 || r.Embedder != "none" {
		t.Errorf("%d questions, score %f, embedder %s, rows %+v", len(r.Ranks), r.Score, r.Embedder, r.Rows)
	}
}

func TestTheIndexOfWordsAgreesWithExhaustiveBM25(t *testing.T) {
	t.Parallel()
	sizes := []int{300, 5500} // the second is too large to score all rows
	if !testing.Short() {
		sizes = append(sizes, 20_000)
	}
	cairn := retrieval.Of(open(t, nil), true)
	r := run(t, cairn, retrieval.Options{Suite: retrieval.Growth, Sizes: sizes, Seed: 4})
	if len(r.Rows) != 6*len(sizes) {
		t.Fatalf("rows %+v", r.Rows)
	}
	for _, row := range r.Rows {
		if row.Values["AGREEMENT"] < 0.99 || row.Values["EXACT"] < 0.95 || row.Values["INDEX BYTES"] <= 0 {
			t.Errorf("%+v", row)
		}
	}
	svg := string(r.Plot())
	testkit.Must(t, xml.Unmarshal([]byte(svg), new(struct{})))
	if !strings.Contains(svg, "z frequent") {
		t.Error("the plot does not name its lines")
	}
}

// Copied rows are searched like stored ones.
func TestCopiedRowsAreSearched(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := open(t, nil)
	for _, vocabulary := range []string{"s", "z"} {
		r := run(t, retrieval.Of(h, false), retrieval.Options{Suite: retrieval.Needle, Sizes: []int{50_000},
			Vocabularies: []string{vocabulary}})
		if r.Score != 1 {
			t.Errorf("%s: %.3f of the needles come first", vocabulary, r.Score)
		}
	}
}

func TestFiltersEqualBruteForce(t *testing.T) {
	t.Parallel()
	size := 5000
	if !testing.Short() {
		size = 20_000
	}
	cairn := retrieval.Of(open(t, nil), false)
	r := run(t, cairn, retrieval.Options{Suite: retrieval.Filters, Sizes: []int{size}, Seed: 5})
	for _, q := range r.Ranks {
		if q.Score != 1 {
			t.Errorf("%s: %s", q.ID, q.Text)
		}
	}
	if n := r.Rows[0].Values["PASSING"]; len(r.Ranks) != 500 || n < 10 || n > float64(size)/2 {
		t.Errorf("%d filters, which %f documents pass", len(r.Ranks), n)
	}
}

func TestParaphrasesShareNoStem(t *testing.T) {
	t.Parallel()
	pairs, err := retrieval.Pairs()
	testkit.Must(t, err)
	seen, languages := map[string]bool{}, map[string]int{}
	for _, p := range pairs {
		if seen[p.ID] || seen[p.Memory] || p.Question == "" || p.Memory == "" || len(p.Synonyms) == 0 {
			t.Errorf("%s is incomplete or occurs twice", p.ID)
		}
		seen[p.ID], seen[p.Memory], languages[p.Language] = true, true, languages[p.Language]+1
		asked := lexical.Words(p.Question)
		for _, word := range lexical.Words(p.Memory) {
			if slices.Contains(asked, word) {
				t.Errorf("%s: question and memory have the stem %q", p.ID, word)
			}
		}
		for _, r := range p.Question {
			if lexical.IsCJK(r) && !lexical.IsStopword(string(r)) && strings.ContainsRune(p.Memory, r) {
				t.Errorf("%s: question and memory have the character %c", p.ID, r)
			}
		}
		for _, s := range p.Synonyms {
			if !strings.Contains(strings.ToLower(p.Question), s[0]) ||
				!strings.Contains(strings.ToLower(p.Memory), s[1]) {
				t.Errorf("%s does not contain its synonyms %v", p.ID, s)
			}
		}
	}
	if len(pairs) != 60 || languages["en"] < 20 || languages["zh"] < 20 {
		t.Errorf("%d pairs, %v", len(pairs), languages)
	}
}

// Hashing does not understand paraphrases; a model that knows the synonyms does.
func TestParaphrasesNeedAModel(t *testing.T) {
	t.Parallel()
	hashing := run(t, retrieval.Of(open(t, nil), false), retrieval.Options{Suite: retrieval.Paraphrase})
	if hashing.Score > 0.3 {
		t.Errorf("with hashing %.3f are found", hashing.Score)
	}
	endpoint := openaitest.New(t)
	endpoint.Dims(512)
	pairs, err := retrieval.Pairs()
	testkit.Must(t, err)
	var groups [][]string
	for _, p := range pairs {
		for _, s := range p.Synonyms {
			groups = append(groups, s[:])
		}
	}
	endpoint.Synonyms(groups)
	h := open(t, map[string]string{"CAIRN_EMBEDDING_MODEL": "synonyms", "CAIRN_EMBEDDING_DIMENSIONS": "512",
		"CAIRN_EMBEDDING_BASE_URL": endpoint.URL, "CAIRN_EMBEDDING_API_KEY": "k"})
	model := run(t, retrieval.Of(h, false), retrieval.Options{Suite: retrieval.Paraphrase})
	if model.Score < 0.9 || model.Embedder != "synonyms" || model.SettingsHash == hashing.SettingsHash {
		t.Errorf("with synonyms %.3f are found, embedder %s", model.Score, model.Embedder)
	}
	t.Logf("among the first ten: hashing %.3f, synonyms %.3f", hashing.Score, model.Score)
	versus, err := retrieval.Compare(model, hashing)
	testkit.Must(t, err)
	if versus.Questions != 60 || versus.Delta < 0.6 || versus.Low > versus.Delta || versus.High < versus.Delta ||
		!versus.SameData || versus.SameSettings || versus.Worse > 0 {
		t.Errorf("%+v", versus)
	}
}

const histories = `[{"question_id":"q1","question_type":"single-session-user","question":"How many rabbits does Ines ` +
	`keep?","answer":2,"question_date":"2023/05/30 (Tue) 23:40","haystack_dates":["2023/05/20 (Sat) 02:21",` +
	`"2023/05/22 (Mon) 10:00"],"haystack_sessions":[[{"role":"user","content":"Which tea is good for the evening?"},` +
	`{"role":"assistant","content":"Rooibos has no caffeine."}],[{"role":"user","content":"Ines has two rabbits ` +
	`now.","has_answer":true},{"role":"assistant","content":"What are their names?"}]]},` +
	`{"question_id":"q2_abs","question":"What is her cat called?","answer":"Not known","haystack_sessions":` +
	`[[{"role":"user","content":"Hi"}]]}]`

func TestLongMemEvalIsMeasured(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "longmemeval_s.json")
	testkit.Must(t, os.WriteFile(path, []byte(histories), 0o644))
	cairn := retrieval.Of(open(t, nil), false)
	r := run(t, cairn, retrieval.Options{Suite: retrieval.LongMemEval, Data: path})
	if r.Questions != 1 || r.Skipped != 1 || r.At10 != 1 || r.Turns != 5 || r.Ranks[0].ID != "q1" ||
		r.Categories["single-session-user"].Questions != 1 {
		t.Errorf("%+v, ranks %+v", r.Recall, r.Ranks)
	}
}

func TestComparisonsPairQuestions(t *testing.T) {
	t.Parallel()
	report := func(scores ...float64) (r retrieval.Report) {
		for i, s := range scores {
			r.Ranks = append(r.Ranks, retrieval.Ranked{ID: fmt.Sprint(i), Score: s})
		}
		return r
	}
	c, err := retrieval.Compare(report(1, 1, 0, 0.5), report(0, 1, 1, 0.5, 1))
	testkit.Must(t, err)
	if c.Questions != 4 || c.Delta != 0 || c.Better != 1 || c.Worse != 1 || c.Low >= 0 || c.High <= 0 {
		t.Errorf("%+v", c)
	}
	same, err := retrieval.Compare(report(1, 0), report(1, 0))
	testkit.Must(t, err)
	if same.Low != 0 || same.High != 0 || !same.SameData || !same.SameSettings {
		t.Errorf("equal runs differ: %+v", same)
	}
	if _, err := retrieval.Compare(report(1), retrieval.Report{}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a baseline without questions: %v", err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]retrieval.Options{
		"suite":      {Suite: "best"},
		"no data":    {Suite: retrieval.LongMemEval},
		"data":       {Suite: retrieval.Needle, Data: "x.json"},
		"size":       {Suite: retrieval.LoCoMo, Data: "x.json", Sizes: []int{1000}},
		"small":      {Suite: retrieval.Needle, Sizes: []int{0}},
		"large":      {Suite: retrieval.Filters, Sizes: []int{100_000}},
		"vocabulary": {Suite: retrieval.Growth, Vocabularies: []string{"q"}},
		"no file":    {Suite: retrieval.LoCoMo, Data: filepath.Join(t.TempDir(), "absent.json")},
	} {
		_, err := retrieval.Run(t.Context(), retrieval.Cairn{}, o)
		if f := fault.From(err); f.Code != fault.InvalidArgument || f.Hint == "" || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

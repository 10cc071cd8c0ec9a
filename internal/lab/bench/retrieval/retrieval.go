// Package retrieval measures search. A suite stores documents with the production store in a
// temporary database, asks its questions with the production search, and reports the rank of each
// answer.
//
//	report, err := retrieval.Run(ctx, app.Retrieval(false), retrieval.Options{Suite: retrieval.Needle})
package retrieval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
)

// Suites of questions.
const (
	LoCoMo      = "locomo"      // evidence of LoCoMo, each conversation in a workspace of its own
	Distractors = "distractors" // the same with all conversations in one workspace
	LongMemEval = "longmemeval" // evidence in the histories of LongMemEval
	Needle      = "needle"      // exact questions about one of many generated rows
	Paraphrase  = "paraphrase"  // questions that share no word with the memory that answers them
	Growth      = "growth"      // agreement of the index of words with exhaustive BM25 by size
	Filters     = "filters"     // random filters, compared with reading every document
)

// Suites are all suites.
var Suites = []string{LoCoMo, Distractors, LongMemEval, Needle, Paraphrase, Growth, Filters}

// Options select what is measured. Zero values select the defaults of the suite.
type Options struct {
	Suite        string
	Data         string   // path of the data file, for the suites that read one
	Sizes        []int    // documents, for the suites that generate them
	Vocabularies []string // see corpus.Named, for the suites that generate documents
	Seed         uint64   // of the generated documents
	Log          func(format string, args ...any)
}

// defaultSizes are the sizes of suites that generate documents.
var defaultSizes = map[string][]int{Needle: {5000}, Filters: {5000}, Growth: {1000, 5000, 20_000}, Paraphrase: {500}}

// Generated reports whether a suite generates its documents.
func Generated(suite string) bool { return defaultSizes[suite] != nil }

// Bounds of a size. The documents of filters are stored without COPY.
const (
	minDocuments = 100
	maxDocuments = 5_000_000
	maxFiltered  = 40_000
)

// Check refuses invalid options.
func (o Options) Check() error {
	_, err := o.check()
	return err
}

// check fills the defaults and refuses invalid values.
func (o Options) check() (Options, error) {
	if o.Suite == "" {
		o.Suite = LoCoMo
	}
	invalid := func(message, hint string) (Options, error) {
		return o, fault.New(fault.InvalidArgument, message, hint)
	}
	if !slices.Contains(Suites, o.Suite) {
		return invalid(fmt.Sprintf("unknown suite %q", o.Suite), "use one of "+strings.Join(Suites, ", "))
	}
	if len(o.Sizes) > 0 && !Generated(o.Suite) {
		return invalid("the suite "+o.Suite+" does not generate documents", "leave out --size")
	}
	if o.Data == "" && !Generated(o.Suite) {
		return invalid("the suite "+o.Suite+" needs a data file", "pass its path with --data")
	}
	if o.Data != "" && Generated(o.Suite) {
		return invalid("the suite "+o.Suite+" reads no data file", "leave out --data")
	}
	if len(o.Sizes) == 0 {
		o.Sizes = defaultSizes[o.Suite]
	}
	most := maxDocuments
	if o.Suite == Filters {
		most = maxFiltered
	}
	for _, n := range o.Sizes {
		if n < minDocuments || n > most {
			return invalid(fmt.Sprintf("invalid size %d", n), fmt.Sprintf("use %d to %d", minDocuments, most))
		}
	}
	if len(o.Vocabularies) == 0 {
		o.Vocabularies = []string{"s", "z"}
	}
	for _, name := range o.Vocabularies {
		if _, err := corpus.Named(name, o.Seed); err != nil {
			return o, fault.Wrap(err, fault.InvalidArgument, "unknown vocabulary", "use s or z")
		}
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o, nil
}

// Store stores documents, and conversations, each in a workspace.
type Store interface {
	MakeWorkspace(ctx context.Context, name string) (int64, error)
	PutConversation(ctx context.Context, ws int64, c transcript.Conversation) error
	// Fill indexes the documents 0 to n-1 in order, with vectors if there is an embedder. page returns
	// the documents from to to-1.
	Fill(ctx context.Context, ws int64, n int, page func(from, to int) []index.Doc) error
	// Embed stores the vectors that documents of the workspace do not have yet.
	Embed(ctx context.Context, ws int64) error
	// Bytes returns the size of the tables of search, and of the index of words alone.
	Bytes(ctx context.Context, ws int64) (all, words int64, err error)
}

// Finder searches the documents of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]index.Result, error)
	ByWords(ctx context.Context, ws int64, r search.Request, k int) (domainsearch.WordResult, error)
}

// Cairn contains the services to measure.
type Cairn struct {
	Store    Store
	Finder   Finder
	Index    index.Index
	Embedder string // name of the embedding model; "none" if words alone are compared
	Dims     int
	Settings any // the parameters of search
}

// Report is the result of a suite.
type Report struct {
	Suite        string  `json:"suite"`
	Metric       string  `json:"metric"` // what the score of a question is
	Score        float64 `json:"score"`  // mean over all questions
	Embedder     string  `json:"embedder"`
	Dims         int     `json:"dimensions"`
	DataHash     string  `json:"data_sha256"`
	SettingsHash string  `json:"settings_sha256"`
	P50          float64 `json:"p50_ms"`
	P99          float64 `json:"p99_ms"`
	*Recall      `json:",omitempty"`
	Columns      []string    `json:"columns,omitempty"` // of Rows, in order
	Rows         []Row       `json:"rows,omitempty"`
	Ranks        []Ranked    `json:"ranks"`
	Versus       *Comparison `json:"versus,omitempty"`
}

// Row is a line of the table of a suite.
type Row struct {
	Name      string             `json:"name"`
	Size      int                `json:"size,omitempty"` // documents
	Questions int                `json:"questions"`
	Values    map[string]float64 `json:"values"`
}

// Ranked is a question with what was found.
type Ranked struct {
	ID    string  `json:"id"` // the same in every run on the same data
	Text  string  `json:"text"`
	Group string  `json:"group"`
	Ranks []int   `json:"ranks,omitempty"` // of each answer, from 1; 0 if it was not found
	Score float64 `json:"score"`
}

// Run measures a suite.
func Run(ctx context.Context, of Cairn, o Options) (Report, error) {
	o, err := o.check()
	if err != nil {
		return Report{}, err
	}
	suites := map[string]func(context.Context, Cairn, Options) (Report, error){
		LoCoMo: locomoSuite, Distractors: distractors, LongMemEval: longmemevalSuite, Needle: needle,
		Paraphrase: paraphrase, Growth: growth, Filters: filters,
	}
	r, err := suites[o.Suite](ctx, of, o)
	if err != nil {
		return r, fmt.Errorf("suite %s: %w", o.Suite, err)
	}
	r.Suite, r.Embedder, r.Dims = o.Suite, of.Embedder, of.Dims
	if r.DataHash == "" {
		r.DataHash = hash([]any{o.Suite, o.Sizes, o.Vocabularies, o.Seed})
	}
	r.SettingsHash = hash([]any{of.Embedder, of.Dims, of.Settings})
	total := 0.0
	for _, q := range r.Ranks {
		total += q.Score
	}
	r.Score = rounded(total / math.Max(1, float64(len(r.Ranks))))
	return r, nil
}

// hash returns the hash of the JSON of v.
func hash(v any) string {
	raw, _ := json.Marshal(v)
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// rounded returns x with the precision that the number of questions allows.
func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// timer collects durations.
type timer []time.Duration

// took measures f.
func (t *timer) took(f func() error) error {
	started := time.Now()
	err := f()
	*t = append(*t, time.Since(started))
	return err
}

// percentile returns milliseconds.
func (t timer) percentile(p float64) float64 {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[min(len(t)-1, int(p*float64(len(t))))].Microseconds()) / 1000
}

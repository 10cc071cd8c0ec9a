package speed

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/objectstore"
	"cairn/internal/adapter/openai"
	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Sample is a conversation to distill.
type Sample struct {
	Size  int // tokens
	Tasks int
}

// Samples are the conversations of the benchmark.
func Samples() []Sample {
	return []Sample{{2_000, 1}, {7_600, 1}, {7_600, 3}, {50_000, 1}, {50_000, 3}, {206_000, 1}, {300_000, 1}}
}

// TokenRow is the result for a conversation.
type TokenRow struct {
	Raw      int     `json:"raw_tokens"` // T
	Tasks    int     `json:"tasks"`
	Calls    int     `json:"calls"`
	Input    int     `json:"input_tokens"`    // of all requests without a cache
	Largest  int     `json:"largest_request"` // with and without a cache
	Cached   float64 `json:"cached_share"`    // of the input with a cache
	Weighted int     `json:"cost_weighted"`   // input with a cache; read .1, written 1.25
}

// Limit returns the goal of Input, and that of Weighted.
func (r TokenRow) Limit() (input, weighted int) { return r.Raw*5/2 + 6_000, r.Raw*2 + 6_000 }

// TokenLab distills conversations.
type TokenLab struct {
	Store *store.Store
	Log   io.Writer
}

// Measure distills a conversation with and without a cache.
func (l TokenLab) Measure(ctx context.Context, s Sample) (TokenRow, error) {
	c := tokenConversation(s.Size, s.Tasks)
	r := TokenRow{Raw: raw(c), Tasks: s.Tasks}
	for _, caches := range []bool{false, true} {
		fmt.Fprintf(l.Log, "tokens: %d tokens, %d tasks, cache %t\n", r.Raw, s.Tasks, caches)
		e := &endpoint{caches: caches, prefixes: map[string]int{}}
		if err := l.distill(ctx, c, s, e); err != nil {
			return r, err
		}
		input, cached, weighted := 0, 0, 0.0
		for _, u := range e.requests {
			input, cached = input+u.Input, cached+u.Cached
			weighted += float64(
				u.Input-u.Cached-u.Written,
			) + readPrice*float64(
				u.Cached,
			) + writtenPrice*float64(
				u.Written,
			)
			r.Largest = max(r.Largest, u.Input)
		}
		if caches {
			r.Cached, r.Weighted = float64(cached)/float64(input), int(weighted)
		} else {
			r.Input, r.Calls = input, len(e.requests)
		}
	}
	return r, nil
}

// distill runs the steps of a distillation, as its workflow does.
func (l TokenLab) distill(ctx context.Context, c transcript.Conversation, s Sample, e *endpoint) error {
	server, err := openaitest.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	tokenScript(server, e)
	folder, err := os.MkdirTemp("", "cairn-tokens")
	if err != nil {
		return fmt.Errorf("create a folder for packages: %w", err)
	}
	defer os.RemoveAll(folder)
	service, err := l.service(ctx, server, folder, e.caches)
	if err != nil {
		return err
	}
	ws, err := l.Store.Workspace(ctx, fmt.Sprintf("tokens-%d-%d-%t", s.Size, s.Tasks, e.caches), true)
	if err != nil {
		return err
	}
	if err := tokenSteps(ctx, service, ws, c, spec(e.caches)); err != nil {
		return err
	}
	return e.err
}

// spec is the configuration of the runs: the default one with a judge.
func spec(caches bool) distill.Spec {
	out := app.DistillSpec(config.Config{Model: "scripted", BaseURL: "http://scripted/v1", Mode: distill.Full,
		Gate: string(transcript.GateOff), Quality: true, MaxTasks: 8, ToolOutputChars: 1500, RecallTopK: 3,
		RecallMinSim: 0.35, MergeSim: 0.99, MinConfidence: 0.5, Concurrency: 5, KeepVersions: 10, NameStyle: "hyphen",
		LLMContext: "128000"}, transcript.ExtractAlways)
	out.Limits.Context, out.Models = 128_000, map[string]string{}
	for _, role := range []string{"segment", "extract", "notes", "merge", "files", "judge"} {
		out.Models[role] = "scripted"
	}
	if out.Cache = distill.CacheUnknown; caches {
		out.Cache = distill.CacheExpected
	}
	return out
}

func (l TokenLab) service(ctx context.Context, server *openaitest.Server, folder string, caches bool) (*distill.Service,
	error) {
	blobs, err := objectstore.Local(folder)
	if err != nil {
		return nil, err
	}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := l.Store.Space(ctx, embedder.Model(), embedder.Dims())
	if err != nil {
		return nil, err
	}
	cache := openai.CacheOff
	if caches {
		cache = openai.CacheOpenAI
	}
	calls := ledger.New(ledger.Ports{Store: l.Store, Lease: time.Minute,
		Model: openai.New(openai.Config{BaseURL: server.URL, Cache: cache})})
	return distill.New(distill.Ports{Store: l.Store, Ledger: calls, Embedder: embedder, Space: space, Blobs: blobs}),
		nil
}

func tokenSteps(ctx context.Context, s *distill.Service, ws access.Workspace, c transcript.Conversation,
	spec distill.Spec) error {
	r, _, err := s.Accept(ctx, distill.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: c,
		Channel: "import", Spec: spec})
	if err != nil {
		return err
	}
	divided, err := s.Segment(ctx, contract.RefOf(ws.Key, r))
	if err != nil {
		return err
	}
	for _, key := range divided.Tasks {
		if err := task(ctx, s, contract.TaskRef{RunRef: contract.RefOf(ws.Key, r), Task: key}); err != nil {
			return err
		}
	}
	if _, err := s.Close(ctx, contract.CloseInput{RunRef: contract.RefOf(ws.Key, r)}); err != nil {
		return err
	}
	report, err := s.Report(ctx, r.Ref)
	if err == nil && (report.Outcome != run.Completed || len(report.Tasks) == 0) {
		return fmt.Errorf("distill %s: ended as %q (%s) with %+v", c.ID, report.Outcome, report.Reason, report.Tasks)
	}
	return err
}

func task(ctx context.Context, s *distill.Service, of contract.TaskRef) error {
	out, err := s.Draft(ctx, of)
	if err != nil || out.Ended {
		return err
	}
	if _, err := s.Write(ctx, of); err != nil {
		return err
	}
	if err := s.Judge(ctx, of); err != nil {
		return err
	}
	_, err = s.Publish(ctx, of)
	return err
}

// Package distill turns conversations into versioned skills.
//
// A run passes a gate, is divided into tasks, and each task recalls similar skills, extracts a
// draft, writes its files, builds a package and commits it. Requests about one window of the
// transcript begin with the same bytes, so that endpoints can cache them.
//
// Each method is one step and may be repeated at any time: stored results are reused, and model
// calls use the ledger. Permanent problems end a task or a run with an outcome. A returned error
// means that the step can be retried.
package distill

import (
	"cmp"
	"context"
	"slices"
	"unicode/utf8"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Blobs stores packages under immutable keys.
type Blobs interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	Locate(key string) string // location to display
}

// Ports are the dependencies of the service.
type Ports struct {
	Store    *store.Store
	Ledger   *ledger.Ledger
	Embedder search.Embedder
	Space    int16         // vector space of the embedder
	Spaces   search.Spaces // nil if Embedder and Space serve all workspaces
	Blobs    Blobs
	Models   map[string]string // by role, for runs that are not pinned to others
	Context  int               // of these models in tokens, for runs whose limits state none
	Cache    string            // one of the Cache constants, for runs that state none
}

// Service distills conversations.
type Service struct {
	Ports

	specs  specs // cache of run configurations
	caches caches
}

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// job is a run with its configuration and transcript.
type job struct {
	run     run.Run
	spec    Spec
	conv    transcript.Conversation // messages of the run
	history []transcript.Message    // messages before them
	private private
	models  map[string]string // of this process
}

// load reads a run, its configuration and its messages, and calls also in the same transaction.
func (s *Service) load(ctx context.Context, ref run.Ref, also func(ctx context.Context, tx store.Tx,
	j job) error) (j job,
	err error) {
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, err := tx.Runs().RunState(ctx, ref.Run)
		if err != nil {
			return err
		}
		if j, err = s.read(ctx, tx, r); err != nil || also == nil {
			return err
		}
		return also(ctx, tx, j)
	})
	return j, err
}

// read reads the configuration and the messages of a run.
func (s *Service) read(ctx context.Context, tx store.Tx, r run.Run) (j job, err error) {
	ref := r.Ref
	j.run, j.models = r, s.Models
	if j.spec, err = s.specs.of(ctx, tx, ref); err != nil {
		return j, err
	}
	j.spec.Limits.Context = cmp.Or(j.spec.Limits.Context, s.Context)
	j.spec.Cache = cmp.Or(j.spec.Cache, s.Cache)
	j.conv, err = tx.Transcripts().Conversation(ctx, j.run.Conversation,
		max(0, j.spec.From-j.spec.Limits.HistoryMessages), j.spec.To)
	if err != nil {
		return j, err
	}
	first := slices.IndexFunc(j.conv.Messages, func(m transcript.Message) bool { return m.Seq >= j.spec.From })
	if first > 0 {
		j.history, j.conv.Messages = j.conv.Messages[:first], j.conv.Messages[first:]
	}
	j.protect()
	return j, nil
}

// newestHistory returns the newest messages of the history that fit the limit. It does not cut messages.
func (j job) newestHistory() []prompt.Message {
	rendered := transcript.Material(transcript.NonEmpty(j.history), j.spec.Limits.ToolOutputChars)
	left := j.spec.Limits.HistoryChars
	for i := len(rendered) - 1; i >= 0; i-- {
		if left -= utf8.RuneCountInString(rendered[i].Content); left < 0 {
			return rendered[i+1:]
		}
	}
	return rendered
}

// lessonsOnly reports whether the conversation failed. Its procedure is not reusable, but its
// mistakes are lessons.
func (j job) lessonsOnly() bool { return j.verdict() == transcript.Failure }

// loadTask is load with one task of the run. It does not call also if the task has ended.
func (s *Service) loadTask(ctx context.Context, ref run.Ref, key string,
	also func(ctx context.Context, tx store.Tx, j job, t distillation.Task) error) (j job, t distillation.Task,
	err error) {
	err = s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, task, err := tx.Tasks().RunTask(ctx, ref.Run, key)
		if err != nil {
			return err
		}
		t = task
		if j, err = s.read(ctx, tx, r); err != nil || t.Stage == distillation.EndedTask || also == nil {
			return err
		}
		return also(ctx, tx, j, t)
	})
	return j, t, err
}

// messages returns the messages with the given sequence numbers.
func (j job) messages(seqs []int) []transcript.Message {
	wanted := make(map[int]bool, len(seqs))
	for _, s := range seqs {
		wanted[s] = true
	}
	var out []transcript.Message
	for _, m := range j.conv.Messages {
		if wanted[m.Seq] {
			out = append(out, m)
		}
	}
	return out
}

// endRun ends a run without tasks.
func (s *Service) endRun(ctx context.Context, ref run.Ref, outcome run.Outcome, reason string, result any) error {
	return s.Store.InWorkspaceByKeys(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Runs().EndRun(ctx, ref.Run, outcome, reason, result)
	})
}

// endTask ends a task without a version.
func (s *Service) endTask(ctx context.Context, t distillation.Task, outcome distillation.Outcome, reason string) error {
	t.Outcome, t.Reason = outcome, reason
	return s.Store.InWorkspaceByKeys(ctx, t.Ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Tasks().EndTask(ctx, t)
	})
}

// Package distill turns conversations into versioned skills: gate, chunk into
// tasks, recall what is known, extract a draft, write its files, package,
// commit. Each method is one step that may be run again at any time: what an
// earlier attempt did is found in the store, and model calls go through the
// ledger. Domain trouble ends a task or a run with an outcome; an error means
// that the step is worth trying again.
package distill

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/ledger"
	"cairn/internal/service/search"
)

// Tx is one workspace's rows in one transaction.
type Tx interface {
	ledger.Rows
	Run(ctx context.Context, id int64) (run.Run, error)
	RunState(ctx context.Context, id int64) (run.Run, error) // without the configuration
	RunTask(ctx context.Context, id int64, key string) (run.Run, Task, error)
	RunSpec(ctx context.Context, id int64) (json.RawMessage, error)
	StartRun(ctx context.Context, id int64) (bool, error)
	Reopen(ctx context.Context, r run.Run, workflowID string) error
	EndRun(ctx context.Context, id int64, outcome run.Outcome, reason string, result any) error
	Conversation(ctx context.Context, id int64, from, to int) (transcript.Conversation, error)
	Channel(ctx context.Context, conversation int64) (string, error)
	PutTasks(ctx context.Context, ts []Task) error
	Tasks(ctx context.Context, id int64) ([]Task, error)
	Progress(ctx context.Context, id int64) (Progress, error)
	Usage(ctx context.Context, id int64) (run.Usage, error)
	Calls(ctx context.Context, ref run.Ref) ([]run.Call, error)
	Task(ctx context.Context, id int64, key string) (Task, error)
	SaveRecall(ctx context.Context, t Task) error
	SaveDraft(ctx context.Context, t Task, notes []string) error
	SaveBase(ctx context.Context, t Task) error
	Memo(ctx context.Context, key [32]byte, fresh time.Duration) (Memo, bool, error)
	PutMemo(ctx context.Context, key [32]byte, m Memo) error
	SaveQuality(ctx context.Context, t Task, notes []string) error
	SaveWritten(ctx context.Context, t Task, kind string, files []WrittenFile) error
	Written(ctx context.Context, t Task) ([]WrittenFile, error)
	SavePackage(ctx context.Context, t Task) error
	HoldTask(ctx context.Context, t Task) (bool, error)
	EndTask(ctx context.Context, t Task) error
	TouchPackage(ctx context.Context, sha [32]byte, key string, bytes int) error
	AbandonPackage(ctx context.Context, t Task) (bool, error) // true when the task or its package was erased
	ForgetPackage(ctx context.Context, sha [32]byte) error
	SkillNamed(ctx context.Context, name string) (skill.Head, error)
	SkillHead(ctx context.Context, id int64) (skill.Head, error)
	Version(ctx context.Context, id int64, number int) (skill.Version, error)
	Search(ctx context.Context, q search.Query) ([]search.Hit, error)
}

// Store keeps runs, tasks and skills.
type Store interface {
	Within(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
	Accept(ctx context.Context, a Accepted) (r run.Run, made bool, err error)
	CommitVersion(ctx context.Context, t Task, c Commit) (Committed, error)
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Blobs keeps packages under immutable keys.
type Blobs interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	Delete(ctx context.Context, key string) error
	Locate(key string) string // for people
}

// Service is the use-case.
type Service struct {
	Store    Store
	Ledger   *ledger.Ledger
	Embedder Embedder
	Space    int16 // of the embedder's vectors
	Blobs    Blobs

	specs specs // of the runs that were worked on last
}

// job is a run with its pinned configuration and its transcript.
type job struct {
	run     run.Run
	spec    Spec
	conv    transcript.Conversation // the messages of the run
	history []transcript.Message    // what came before them
	private private
}

// load reads a run, its configuration and its messages. What also does is done in
// the same transaction.
func (s *Service) load(ctx context.Context, ref run.Ref, also func(ctx context.Context, tx Tx, j job) error) (j job, err error) {
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, err := tx.RunState(ctx, ref.Run)
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

// read reads what belongs to a run.
func (s *Service) read(ctx context.Context, tx Tx, r run.Run) (j job, err error) {
	ref := r.Ref
	j.run = r
	if j.spec, err = s.specs.of(ctx, tx, ref); err != nil {
		return j, err
	}
	j.conv, err = tx.Conversation(ctx, j.run.Conversation, max(0, j.spec.From-j.spec.Limits.HistoryMessages), j.spec.To)
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

// newestHistory is the end of the history that fits, whole messages only.
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

// lessonsOnly tells that the conversation failed: what was done in it is no
// procedure, but what went wrong is worth remembering.
func (j job) lessonsOnly() bool { return j.conv.Reward != nil && *j.conv.Reward <= 0 }

// loadTask is load with one of the run's tasks. What also does is left out when the
// task has ended.
func (s *Service) loadTask(ctx context.Context, ref run.Ref, key string, also func(ctx context.Context, tx Tx, j job, t Task) error) (j job, t Task, err error) {
	err = s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		r, task, err := tx.RunTask(ctx, ref.Run, key)
		if err != nil {
			return err
		}
		t = task
		if j, err = s.read(ctx, tx, r); err != nil || t.Stage == EndedTask || also == nil {
			return err
		}
		return also(ctx, tx, j, t)
	})
	return j, t, err
}

// messages are the transcript's messages with the given sequence numbers.
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

// endRun ends a run that made no tasks.
func (s *Service) endRun(ctx context.Context, ref run.Ref, outcome run.Outcome, reason string, result any) error {
	return s.Store.Within(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error { return tx.EndRun(ctx, ref.Run, outcome, reason, result) })
}

// endTask ends a task that made no version.
func (s *Service) endTask(ctx context.Context, t Task, outcome Outcome, reason string) error {
	t.Outcome, t.Reason = outcome, reason
	return s.Store.Within(ctx, t.Ref.Workspace, func(ctx context.Context, tx Tx) error { return tx.EndTask(ctx, t) })
}

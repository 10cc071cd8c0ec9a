package feedback_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/settings"
	"cairn/internal/service/feedback"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

func TestAfterFeedbackBothKindsOfLearningAreAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.note("1", feedback.Input{Rating: feedback.Bad, Question: question})
	b.note("2", feedback.Input{Rating: feedback.Good, Question: question})
	if len(b.rounds.asked) != 2 || len(b.updates.asked) != 2 {
		t.Fatalf("rounds %+v, updates %+v", b.rounds.asked, b.updates.asked)
	}
	for _, due := range []*dueRuns{b.rounds, b.updates} {
		d := due.asked[0]
		if d.Workspace != b.db.A.ID || d.WorkspaceKey != b.db.A.Key || d.Spec.Model.Name != "scripted" || d.Least < 2 {
			t.Errorf("%+v", d)
		}
	}
}

// Twenty failures start a round early.
func TestARoundStartsEarlyWhenMuchHasFailed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Rounds = b.learning.Rounds
	b.db.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	rounds := func() int { return b.db.Number("select count(*) from runs where kind = 'evolve'") }
	for i := range 20 {
		if n := rounds(); n != 0 {
			t.Fatalf("%d rounds after %d failures", n, i)
		}
		b.note(b.db.Op(), feedback.Input{Rating: feedback.Bad, Question: strings.Repeat("why ", i+1)})
	}
	if n := rounds(); n != 1 {
		t.Errorf("%d rounds", n)
	}
}

// If early learning fails, the feedback is stored nevertheless.
func TestFeedbackIsNotedThoughNothingCanBeLearnt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.rounds.err = errors.New("the disk is full")
	b.note("1", feedback.Input{Rating: feedback.Bad, Question: question})
	if open := b.open(); len(open) != 1 || len(b.updates.asked) != 0 {
		t.Errorf("%+v, asked %+v", open, b.updates.asked)
	}
	if log := b.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "the disk is full") {
		t.Errorf("logged %q", log)
	}
	b.rounds.err, b.updates.err = nil, errors.New("the disk is away")
	b.LearnEarly(t.Context(), b.db.A.ID)
	if log := b.log.String(); !strings.Contains(log, "the disk is away") {
		t.Errorf("logged %q", log)
	}
}

func TestLearningIsNotAskedForWhereThereIsNoWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.LearnEarly(t.Context(), 999_999)
	if len(b.rounds.asked) != 0 || len(b.updates.asked) != 0 || !strings.Contains(b.log.String(), "level=WARN") {
		t.Errorf("asked %+v, logged %q", b.rounds.asked, b.log.String())
	}
}

// miss records a question of workspace A without a matching memory.
func (b *bundle) miss(id, query string) {
	b.t.Helper()
	q := memoryagent.Question{Workspace: b.db.A.ID, WorkspaceKey: b.db.A.Key, ID: id, Query: query}
	testkit.Must(b.t, b.Missed(b.t.Context(), q, memoryagent.Answer{Text: "I do not know."}))
}

func TestAMissedQuestionIsACaseWhereMemorySkillsBuild(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const boat = "Which boat did Otto buy?"
	if b.miss("r1", boat); len(b.open()) != 0 {
		t.Errorf("agents build this workspace's memories: %+v", b.open())
	}
	b.db.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	b.miss("r1", boat)
	b.miss("r1", boat)
	open := b.open()
	if len(open) != 1 || open[0].Failures != 1 || open[0].Source != bank.FromRetrieval || open[0].Question != boat ||
		open[0].Prediction != "I do not know." {
		t.Errorf("%+v", open)
	}
	b.miss("r2", boat)
	if open := b.open(); len(open) != 1 || open[0].Failures != 2 {
		t.Errorf("asked under another id: %+v", open)
	}
	if len(b.rounds.asked) == 0 {
		t.Error("AcceptDue was not called")
	}
}

func TestEachQuestionWithoutAnIDIsAFailureOfItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.db.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	b.miss("", question)
	b.miss("", question)
	if open := b.open(); len(open) != 1 || open[0].Failures != 2 {
		t.Errorf("%+v", open)
	}
}

// A question that is too long for a case is not an error.
func TestAQuestionTooLongForACaseIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.db.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	b.miss("r1", strings.Repeat("é", 2001))
	if open := b.open(); len(open) != 0 {
		t.Errorf("%d cases", len(open))
	}
	b.miss("r2", strings.Repeat("é", 2000))
	if open := b.open(); len(open) != 1 {
		t.Errorf("%d cases", len(open))
	}
}

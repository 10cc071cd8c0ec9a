package feedback_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/conversation"
	"cairn/internal/service/feedback"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/library"
	"cairn/internal/testkit"
)

// dueRuns records its calls.
type dueRuns struct {
	mu    sync.Mutex
	asked []bank.Due
	err   error
}

func (d *dueRuns) AcceptDue(_ context.Context, due bank.Due) ([]run.Run, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, due)
	return nil, d.err
}

// bundle is the service over a new database.
type bundle struct {
	*feedback.Service
	learning *pgtest.Learning
	db       *pgtest.Store
	rounds   *dueRuns
	updates  *dueRuns
	log      strings.Builder
	t        *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	l := pgtest.OpenLearning(t)
	b := &bundle{t: t, learning: l, db: l.DB, rounds: &dueRuns{}, updates: &dueRuns{}}
	b.Service = &feedback.Service{Ports: feedback.Ports{Store: l.DB.Workspaces(), Answers: l.DB.Inbox(), Cases: l.Cases,
		Skills:  &library.Library{Ports: library.Ports{Store: l.DB.Store}},
		Rounds:  b.rounds,
		Updates: b.updates, Spec: l.Spec, Log: slog.New(slog.NewTextHandler(&b.log, nil))}}
	return b
}

// note sends feedback for workspace A, of another voter for each op.
func (b *bundle) note(op string, in feedback.Input) feedback.Result {
	b.t.Helper()
	return b.vote(op, op, in)
}

// vote sends feedback of an account at the command line.
func (b *bundle) vote(account, op string, in feedback.Input) feedback.Result {
	b.t.Helper()
	out, err := b.Note(audit.With(b.t.Context(), audit.Actor{Kind: audit.CLI, Account: account}), b.db.A.ID, op, in)
	testkit.Must(b.t, err)
	if out.Voter != "cli/"+account {
		b.t.Errorf("%s voted as %q", account, out.Voter)
	}
	return out
}

func (b *bundle) open() []learning.Case {
	b.t.Helper()
	out, err := b.learning.Cases.List(b.t.Context(), b.db.A.ID, "", 100)
	testkit.Must(b.t, err)
	return out
}

// wants compares an error's code, and requires a hint.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if f := fault.From(err); f == nil || f.Code != code || f.Hint == "" {
		t.Errorf("%s: %v, want %s with a hint", what, err, code)
	}
}

const question = "Where does Vera live?"

func TestABadAnswerIsAHardCaseOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := feedback.Input{Rating: feedback.Bad, Question: question, Answer: "In Oslo"}
	first := b.note("1", bad)
	again := b.note("1", bad)
	if first.Question != question || first.Case == nil || again.Case == nil || again.Case.ID != first.Case.ID {
		t.Fatalf("%+v, then %+v", first, again)
	}
	open := b.open()
	if len(open) != 1 || open[0].Failures != 1 || open[0].Source != bank.FromFeedback ||
		open[0].Prediction != "In Oslo" || len(open[0].Gold) != 0 {
		t.Errorf("%+v", open)
	}
}

func TestACorrectionTellsWhatWouldHaveBeenRight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.note("1", feedback.Input{Rating: feedback.Bad, Question: question})
	got := b.note("2", feedback.Input{Correction: " Bergen\n", Question: " where does  VERA live?"})
	if c := got.Case; c == nil || c.Failures != 2 || c.Source != bank.FromCorrection || len(c.Gold) != 1 ||
		c.Gold[0] != "Bergen" || len(b.open()) != 1 {
		t.Errorf("%+v, open %+v", c, b.open())
	}
}

func TestAGoodAnswerTakesAFailureAwayOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := feedback.Input{Rating: feedback.Good, Question: question}
	for _, op := range []string{"1", "2"} {
		b.note(op, feedback.Input{Rating: feedback.Bad, Question: question})
	}
	for range 2 {
		if out := b.note("3", good); out.Case != nil || out.Question != question {
			t.Errorf("%+v", out)
		}
		if open := b.open(); len(open) != 1 || open[0].Failures != 1 {
			t.Errorf("%+v", open)
		}
	}
	if b.note("4", good); len(b.open()) != 0 {
		t.Errorf("%+v", b.open())
	}
}

func TestFeedbackOnATurnIsAboutWhatWasSaidInIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.db.Exchange("c", "m1", "Hello!", "Hello, how are you?")
	turn := b.db.Exchange("c", "m2", question, "In Oslo.")
	about := feedback.Input{Rating: feedback.Bad, Conversation: "c", MessageID: "m2",
		Question: "another question", Answer: "another answer"}
	for range 2 {
		out := b.note("1", about)
		if c := out.Case; out.Question != question || c == nil || c.Prediction != "In Oslo." ||
			c.Run != turn.Ref.Run || c.Conversation != turn.Conversation || c.Failures != 1 {
			t.Errorf("%+v of %q", c, out.Question)
		}
	}
	about.Rating = feedback.Good
	if out := b.note("2", about); out.Question != question || len(b.open()) != 0 {
		t.Errorf("%+v, open %+v", out, b.open())
	}
}

func TestATurnThatIsBeingAnsweredCannotBeRatedYet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.db.AcceptMessage(conversation.Request{Conversation: "c", MessageID: "m1", Text: question})
	in := feedback.Input{Rating: feedback.Bad, Conversation: "c", MessageID: "m1"}
	_, err := b.Note(t.Context(), b.db.A.ID, "1", in)
	wants(t, "no answer yet", err, fault.Unavailable)
	if open := b.open(); len(open) != 0 {
		t.Errorf("%+v", open)
	}
}

func TestFeedbackThatCannotBeNotedSaysWhy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.db.Exchange("c", "m1", question, "In Oslo.")
	const bad, good = feedback.Bad, feedback.Good
	for what, c := range map[string]struct {
		in   feedback.Input
		code fault.Code
	}{
		"nothing":               {feedback.Input{}, fault.InvalidArgument},
		"another rating":        {feedback.Input{Rating: "fine", Question: question}, fault.InvalidArgument},
		"bad, about nothing":    {feedback.Input{Rating: bad}, fault.InvalidArgument},
		"good, about nothing":   {feedback.Input{Rating: good, Question: " "}, fault.InvalidArgument},
		"good, and corrected":   {feedback.Input{Rating: good, Question: "x", Correction: "y"}, fault.InvalidArgument},
		"a blank correction":    {feedback.Input{Correction: " \n", Question: question}, fault.InvalidArgument},
		"a long question":       {feedback.Input{Rating: bad, Question: strings.Repeat("x", 2001)}, fault.TooLarge},
		"no such conversation":  {feedback.Input{Rating: bad, Conversation: "d", MessageID: "m1"}, fault.NotFound},
		"no such message":       {feedback.Input{Rating: bad, Conversation: "c", MessageID: "m2"}, fault.NotFound},
		"a conversation alone":  {feedback.Input{Rating: bad, Conversation: "c"}, fault.NotFound},
		"a message alone":       {feedback.Input{Rating: bad, MessageID: "m1"}, fault.NotFound},
		"a bank that is no one": {feedback.Input{Rating: bad, Question: question, Bank: "other"}, fault.NotFound},
	} {
		_, err := b.Note(t.Context(), b.db.A.ID, b.db.Op(), c.in)
		wants(t, what, err, c.code)
	}
	_, err := b.Note(t.Context(), b.db.B.ID, b.db.Op(), feedback.Input{Rating: bad, Conversation: "c", MessageID: "m1"})
	wants(t, "of another workspace", err, fault.NotFound)
	if open := b.open(); len(open) != 0 || len(b.rounds.asked) != 0 {
		t.Errorf("%+v, asked %+v", open, b.rounds.asked)
	}
}

func TestAnOperationIsForOneFeedback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.Note(t.Context(), b.db.A.ID, "1", feedback.Input{Rating: feedback.Bad, Question: question})
	testkit.Must(t, err)
	_, err = b.Note(t.Context(), b.db.A.ID, "1", feedback.Input{Rating: feedback.Bad, Question: "Where is the key?"})
	wants(t, "another question", err, fault.OpReused)
	_, err = b.Note(t.Context(), b.db.A.ID, "1", feedback.Input{Rating: feedback.Good, Question: question})
	wants(t, "another rating", err, fault.OpReused)
	if open := b.open(); len(open) != 1 || open[0].Failures != 1 {
		t.Errorf("%+v", open)
	}
}

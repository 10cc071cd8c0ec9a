package feedback_test

import (
	"fmt"
	"sync"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/service/feedback"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// failures returns the failures of the one open case, 0 without one.
func (b *bundle) failures() int {
	b.t.Helper()
	switch open := b.open(); len(open) {
	case 0:
		return 0
	case 1:
		return open[0].Failures
	default:
		b.t.Fatalf("%d cases", len(open))
		return 0
	}
}

// A voter has one vote on an answer. A later vote replaces the earlier one and its effect.
func TestALaterVoteReplacesTheEarlierOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad, good := feedback.Input{Rating: feedback.Bad, Question: question}, feedback.Input{Rating: feedback.Good,
		Question: "where  does vera LIVE?"}
	corrected := feedback.Input{Correction: "Bergen", Question: question}
	for i, c := range []struct {
		voter, op string
		in        feedback.Input
		failures  int
	}{
		{"ada", "1", bad, 1}, {"ada", "2", bad, 1}, {"ada", "3", corrected, 1}, {"ben", "4", bad, 2},
		{"ada", "5", good, 0},                       // ben's failure is halved
		{"ada", "1", bad, 0},                        // a retry of an old vote
		{"ada", "6", good, 0}, {"ada", "7", bad, 2}, // and comes back
		{"ben", "8", good, 0}, {"ben", "9", bad, 2},
	} {
		b.vote(c.voter, c.op, c.in)
		if n := b.failures(); n != c.failures {
			t.Errorf("%d: %d failures after the vote of %s, want %d", i, n, c.voter, c.failures)
		}
	}
	if rows := b.db.Rows("votes", "cases"); rows != "votes 2, cases 1" {
		t.Error(rows)
	}
	// What a correction said of the question stays known.
	if open := b.open(); len(open) != 1 || len(open[0].Gold) != 1 || open[0].Gold[0] != "Bergen" {
		t.Errorf("%+v", open)
	}
}

// Two voters that choose the same idempotency key have two votes. Concurrent votes of one voter are
// one.
func TestVotesAreCountedByVoter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := feedback.Input{Rating: feedback.Bad, Question: question}
	b.vote("ada", "1", bad)
	b.vote("ben", "1", bad)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := b.Note(audit.WithKey(t.Context(), audit.Key, 7), b.db.A.ID, fmt.Sprint("once", i/2), bad)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := b.failures(); n != 3 {
		t.Errorf("%d failures of three voters", n)
	}
	// The answer of a turn is another answer than that of its question.
	b.db.Exchange("c", "m1", question, "In Oslo.")
	turn := feedback.Input{Rating: feedback.Bad, Conversation: "c", MessageID: "m1"}
	b.vote("ada", "2", turn)
	b.vote("ada", "3", turn)
	if n := b.failures(); n != 4 {
		t.Errorf("%d failures, want one more", n)
	}
	if n := b.db.Number(
		"select count(*) from votes where answer ~ '^turn/run_[0-9a-z]{26}$' and conversation_id is not null",
	); n != 1 {
		t.Errorf("%d votes on the turn", n)
	}
}

// An expired case starts again at one failure: a replaced vote takes nothing away from it twice.
func TestAVoteOnAnExpiredCaseTakesNothingAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := feedback.Input{Rating: feedback.Bad, Question: question}
	b.vote("ada", "1", bad)
	b.db.Exec("update cases set failed_at = now() - make_interval(secs => $1)", bank.Window.Seconds()+60)
	if n := b.failures(); n != 0 {
		t.Errorf("%d failures of an expired case", n)
	}
	b.vote("ada", "2", bad)
	if n := b.failures(); n != 1 {
		t.Errorf("%d failures", n)
	}
}

// A voter that rates more than 20 answers within a minute is not refused, and none of these votes
// counts. It can vote again later.
func TestABurstOfVotesDoesNotCount(t *testing.T) {
	t.Parallel()
	b := setup(t)
	about := func(i int) feedback.Input {
		return feedback.Input{Rating: feedback.Bad, Question: fmt.Sprintf("Which tree grows in row %d?", i)}
	}
	b.vote("ben", "0", about(0))
	for i := range 20 {
		for range 2 { // a vote that is replaced is one
			if out := b.vote("ada", b.db.Op(), about(i)); out.Burst || out.Case == nil {
				t.Fatalf("vote %d: %+v", i, out)
			}
		}
	}
	if open := b.open(); len(open) != 20 {
		t.Fatalf("%d cases", len(open))
	}
	good := about(20)
	good.Rating = feedback.Good
	for op, in := range map[string]feedback.Input{"bad": about(20), "good": good} {
		for range 2 {
			if out := b.vote("ada", op, in); !out.Burst || out.Case != nil {
				t.Errorf("%s: %+v", op, out)
			}
		}
	}
	if open := b.open(); len(open) != 1 || open[0].Failures != 1 {
		t.Errorf("only the vote of ben counts: %+v", open)
	}
	bursts, err := b.learning.Cases.Bursts(t.Context(), b.db.A.ID, 10)
	if err != nil || len(bursts) != 1 || bursts[0].Voter != "cli/ada" || bursts[0].Votes != 21 ||
		bursts[0].LastAt.IsZero() {
		t.Errorf("%+v, %v", bursts, err)
	}
	if theirs, err := b.learning.Cases.Bursts(t.Context(), b.db.B.ID, 10); err != nil || len(theirs) != 0 {
		t.Errorf("another workspace sees %+v, %v", theirs, err)
	}
	b.db.Exec("update votes set voted_at = now() - interval '61 seconds'")
	if out := b.vote("ada", "later", about(3)); out.Burst || out.Case == nil {
		t.Errorf("a minute later: %+v", out)
	}
	if open := b.open(); len(open) != 2 {
		t.Errorf("%d cases", len(open))
	}
}

// A vote that fails leaves nothing, and its retry counts once.
func TestAVoteThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := feedback.Input{Rating: feedback.Bad, Question: question}
	b.vote("ada", "1", bad)
	good := feedback.Input{Rating: feedback.Good, Question: question}
	for _, table := range []string{"votes", "cases", "tool_op_log"} { // each write of the transaction
		b.db.Exec(fmt.Sprintf("create function cairn.crash_%s() returns trigger language plpgsql as $$ begin "+
			"raise exception 'crash' using errcode = '57P01'; end $$", table))
		b.db.Exec(fmt.Sprintf("create trigger crash before update on %s for each row execute function cairn.crash_%s()",
			table, table))
		ctx := audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "ada"})
		if _, err := b.Note(ctx, b.db.A.ID, "2", good); err == nil {
			t.Errorf("no crash at %s", table)
		}
		b.db.Exec(fmt.Sprintf("drop trigger crash on %s", table))
		if n := b.failures(); n != 1 {
			t.Errorf("%d failures after a crash at %s", n, table)
		}
	}
	for range 2 {
		b.vote("ada", "2", good)
		if n := b.failures(); n != 0 {
			t.Errorf("%d failures", n)
		}
	}
}

// The votes of one workspace do not replace those of another.
func TestVotesOfAnotherWorkspaceAreItsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := feedback.Input{Rating: feedback.Bad, Question: question}
	b.vote("ada", "1", bad)
	_, err := b.Note(audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "ada"}), b.db.B.ID, "1",
		feedback.Input{Rating: feedback.Good, Question: question})
	testkit.Must(t, err)
	if n := b.failures(); n != 1 {
		t.Errorf("%d failures", n)
	}
	if n := b.db.Number("select count(distinct workspace_id) from votes"); n != 2 {
		t.Errorf("votes in %d workspaces", n)
	}
	if _, err := b.Note(t.Context(), b.db.B.ID, "2", feedback.Input{Rating: "fine"}); fault.CodeOf(err) !=
		fault.InvalidArgument {
		t.Error(err)
	}
}

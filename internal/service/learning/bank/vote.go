package bank

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/store"
)

// burstVotes is the number of votes that a key can send within a minute. If it sends more, none of
// them has an effect.
const burstVotes = 20

// Turn returns what is rated by a vote on the answer of a turn.
func Turn(run string) string { return fmt.Sprintf("turn/%s", run) }

// cast applies a vote in place of the voter's earlier vote on the same answer. Change is its effect
// on a case. Without a voter, cast only applies the effects. The order of locks is that of all
// writers: voter, cases, bank.
func cast(ctx context.Context, tx store.Tx, v *learning.Vote, question, answer string, change func() error) error {
	replaced, err := replace(ctx, tx, v)
	if err == nil && !v.Burst {
		err = change()
	}
	for _, r := range replaced {
		if err == nil {
			err = RetractJudgement(ctx, tx, r.Op, r.Decisions, r.Score())
		}
	}
	if err != nil {
		return err
	}
	if !v.Burst && v.Source != FromRetrieval { // nothing was found, so no memory is to blame
		v.Decisions, err = RecordJudgement(ctx, tx, Judgement{Op: v.Op, Source: v.Source,
			Voter: v.Voter, Run: v.Run, Score: v.Score(), Question: question, Answer: answer})
	}
	if err != nil || v.Voter == "" {
		return err
	}
	return tx.Votes().PutVote(ctx, *v)
}

// replace decides whether a vote has an effect, and takes back the effect on cases of the votes
// that lose theirs: the earlier vote on the same answer, and all of a burst.
func replace(ctx context.Context, tx store.Tx, v *learning.Vote) (out []learning.Vote, err error) {
	if v.Voter == "" {
		return nil, nil
	}
	v.Sender = cmp.Or(v.Sender, v.Voter)
	for _, who := range []string{v.Sender, v.Voter} { // senders first, so that no two wait for each other
		if err := tx.Votes().LockVoter(ctx, who); err != nil {
			return nil, err
		}
	}
	before, found, err := tx.Votes().VoteOn(ctx, v.Voter, v.Rated)
	if err != nil {
		return nil, err
	}
	if found {
		out = append(out, before)
	}
	lately, err := tx.Votes().VotesLately(ctx, *v)
	if err != nil {
		return nil, err
	}
	if v.Burst = len(lately) >= burstVotes; v.Burst {
		out = append(out, lately...)
	}
	slices.SortFunc(out, func(a, b learning.Vote) int { return cmp.Compare(a.Case, b.Case) })
	for _, r := range out {
		if r.Case == 0 || r.Failures == 0 {
			continue
		}
		if err := tx.Cases().RetractCase(ctx, r.Case, r.Failures); err != nil {
			return nil, err
		}
	}
	if v.Burst {
		err = tx.Votes().MarkBurst(ctx, v.Sender)
	}
	return out, err
}

// Bursts lists who sent votes too fast to count, latest first.
func (s *Cases) Bursts(ctx context.Context, ws int64, most int) (out []learning.VoteBurst, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Votes().Bursts(ctx, most)
		return err
	})
	return out, err
}

package store

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/store/dbsqlc"
)

// LockVoter serializes the votes of a voter, or of a sender.
func (q VoteRepository) LockVoter(ctx context.Context, voter string) error {
	return classify("lock the voter", q.q.VoterLock(ctx, dbsqlc.VoterLockParams{WorkspaceID: q.ws, Voter: voter}))
}

// VoteOn reads the vote of a voter on an answer, if it exists.
func (q VoteRepository) VoteOn(ctx context.Context, voter, rated string) (learning.Vote, bool, error) {
	r, err := q.q.VoteGet(ctx, dbsqlc.VoteGetParams{WorkspaceID: q.ws, Voter: voter, Answer: rated})
	if isNoRows(err) {
		return learning.Vote{}, false, nil
	}
	return voteOf(r), err == nil, classify("read the vote", err)
}

// VotesLately returns the other votes of the last minute of the sender of v.
func (q VoteRepository) VotesLately(ctx context.Context, v learning.Vote) ([]learning.Vote, error) {
	rows, err := q.q.VotesLately(ctx, dbsqlc.VotesLatelyParams{WorkspaceID: q.ws, Sender: v.Sender, Voter: v.Voter,
		Answer: v.Rated})
	out := make([]learning.Vote, len(rows))
	for i, r := range rows {
		out[i] = voteOf(r)
	}
	return out, classify("read the latest votes", err)
}

// MarkBurst records that the votes of the last minute have no effect.
func (q VoteRepository) MarkBurst(ctx context.Context, sender string) error {
	return classify("mark the votes", q.q.VotesBurst(ctx, dbsqlc.VotesBurstParams{WorkspaceID: q.ws, Sender: sender}))
}

// PutVote stores a vote in place of the voter's earlier one on the same answer.
func (q VoteRepository) PutVote(ctx context.Context, v learning.Vote) error {
	return classify("store the vote", q.q.VotePut(ctx, dbsqlc.VotePutParams{WorkspaceID: q.ws, Voter: v.Voter,
		Sender: v.Sender, Answer: v.Rated, OpID: v.Op, Source: v.Source, Burst: v.Burst, RunID: keyOrNull(v.Run),
		ConversationID: keyOrNull(v.Conversation), CaseID: keyOrNull(v.Case), Failures: int32(v.Failures),
		Decisions: texts(v.Decisions)}))
}

// Bursts returns who sent votes without effect, latest first.
func (q VoteRepository) Bursts(ctx context.Context, most int) ([]learning.VoteBurst, error) {
	rows, err := q.q.VoteBursts(ctx, dbsqlc.VoteBurstsParams{WorkspaceID: q.ws, MaxRows: int32(most)})
	out := make([]learning.VoteBurst, len(rows))
	for i, r := range rows {
		out[i] = learning.VoteBurst{Voter: r.Sender, Votes: int(r.Votes), LastAt: r.LastAt}
	}
	return out, classify("list the bursts of votes", err)
}

// Voters returns the number of voters whose votes have an effect.
func (q VoteRepository) Voters(ctx context.Context) (int, error) {
	n, err := q.q.VotersCount(ctx, q.ws)
	return int(n), classify("count the voters", err)
}

func voteOf(r dbsqlc.Vote) learning.Vote {
	return learning.Vote{Voter: r.Voter, Sender: r.Sender, Rated: r.Answer, Op: r.OpID, Source: r.Source,
		Burst: r.Burst,
		Run:   text(r.RunID), Conversation: number(r.ConversationID), Case: number(r.CaseID),
		Failures: int(r.Failures), Decisions: r.Decisions}
}

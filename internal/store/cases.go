package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/learning"
	"cairn/internal/store/dbsqlc"
)

// PutCase creates the case of a question, or adds to the existing one.
func (q CaseRepository) PutCase(ctx context.Context, c learning.Case) (learning.Case, error) {
	r, err := q.q.CasePut(ctx, dbsqlc.CasePutParams{WorkspaceID: q.ws, BankID: c.Bank, Key: storable(c.Key),
		Source: c.Source, Question: storable(c.Question), Gold: texts(c.Gold), Evidence: int32s(c.Evidence),
		Category:   storable(c.Category),
		Prediction: storable(c.Prediction), Retrieved: texts(c.Retrieved), Score: c.Score, Failures: int32(c.Failures),
		Iteration: int32(c.Iteration), ConversationID: keyOrNull(c.Conversation), RunID: keyOrNull(c.Run), OpID: c.Op})
	return caseOf(r), classify("store the case", err)
}

// CaseOf reads a case by its ID. A case without a key was erased.
func (q CaseRepository) CaseOf(ctx context.Context, id int64) (learning.Case, error) {
	r, err := q.q.CaseGet(ctx, dbsqlc.CaseGetParams{WorkspaceID: q.ws, ID: id})
	if isNoRows(err) {
		return learning.Case{ID: id}, nil
	}
	return caseOf(r), classify("read the case", err)
}

func caseOf(r dbsqlc.Case) learning.Case {
	c := learning.Case{ID: r.ID, Bank: r.BankID, Key: r.Key, Source: r.Source, State: r.State, Question: r.Question,
		Gold: r.Gold, Category: r.Category, Prediction: r.Prediction, Retrieved: r.Retrieved,
		Score: r.Score, Failures: int(r.Failures), Iteration: int(r.Iteration), Conversation: number(r.ConversationID),
		Run: text(r.RunID), Op: r.OpID, FailedAt: r.FailedAt, UpdatedAt: r.UpdatedAt}
	for _, seq := range r.Evidence {
		c.Evidence = append(c.Evidence, int(seq))
	}
	return c
}

// SucceedCase records that a question was answered well.
func (q CaseRepository) SucceedCase(ctx context.Context, bank int64, key, op string) (id int64, taken int, err error) {
	r, err := q.q.CaseSucceed(ctx,
		dbsqlc.CaseSucceedParams{OpID: op, WorkspaceID: q.ws, BankID: bank, Key: storable(key)})
	if isNoRows(err) {
		return 0, 0, nil
	}
	return r.ID, int(r.Taken), classify("record a success", err)
}

// RetractCase takes back the failures that a vote added to a case.
func (q CaseRepository) RetractCase(ctx context.Context, id int64, failures int) error {
	return classify("take back a failure", q.q.CaseRetract(ctx,
		dbsqlc.CaseRetractParams{Failures: int32(failures), WorkspaceID: q.ws, ID: id}))
}

// ExpireCases closes the hard cases of a bank that have not failed within a window, by the
// database's clock, and returns their number.
func (q CaseRepository) ExpireCases(ctx context.Context, bank int64, window time.Duration) (int64, error) {
	n, err := q.q.CasesExpire(ctx, dbsqlc.CasesExpireParams{WorkspaceID: q.ws, BankID: bank, Seconds: window.Seconds()})
	return n, classify("expire the cases", err)
}

// OpenCases returns the hard cases of a bank, the latest first.
func (q CaseRepository) OpenCases(ctx context.Context, bank int64, most int) ([]learning.Case, error) {
	rows, err := q.q.CasesOpen(ctx, dbsqlc.CasesOpenParams{WorkspaceID: q.ws, BankID: bank, MaxRows: int32(most)})
	out := make([]learning.Case, len(rows))
	for i, r := range rows {
		out[i] = caseOf(r)
	}
	return out, classify("list the cases", err)
}

// KnownCases returns the questions of a bank whose answers and conversations are known.
func (q CaseRepository) KnownCases(ctx context.Context, bank int64) ([]learning.Case, error) {
	rows, err := q.q.CasesKnown(ctx, dbsqlc.CasesKnownParams{WorkspaceID: q.ws, BankID: bank})
	out := make([]learning.Case, len(rows))
	for i, r := range rows {
		out[i] = caseOf(r)
	}
	return out, classify("list the questions", err)
}

// PutRound creates a round of a run, or finds the existing one.
func (q RoundRepository) PutRound(ctx context.Context, bank int64, run string, base int) (learning.Round, error) {
	r, err := q.q.RoundPut(ctx, dbsqlc.RoundPutParams{WorkspaceID: q.ws, BankID: bank, RunID: run, Base: int32(base)})
	if err != nil {
		return learning.Round{}, classify("open the round", err)
	}
	return roundOf(r)
}

// RoundOf reads the round of a run.
func (q RoundRepository) RoundOf(ctx context.Context, run string) (learning.Round, error) {
	r, err := q.q.RoundOfRun(ctx, dbsqlc.RoundOfRunParams{WorkspaceID: q.ws, RunID: run})
	if err != nil {
		return learning.Round{}, classify("read the round", err)
	}
	return roundOf(r)
}

// Rounds lists the rounds of a bank, the newest first.
func (q RoundRepository) Rounds(ctx context.Context, bank int64, most int) ([]learning.Round, error) {
	rows, err := q.q.RoundsOf(ctx, dbsqlc.RoundsOfParams{WorkspaceID: q.ws, BankID: bank, MaxRows: int32(most)})
	if err != nil {
		return nil, classify("list the rounds", err)
	}
	out := make([]learning.Round, len(rows))
	for i, r := range rows {
		if out[i], err = roundOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SaveRound stores the progress of a round. A round that has ended stays unchanged.
func (q RoundRepository) SaveRound(ctx context.Context, r learning.Round) error {
	p := dbsqlc.RoundSaveParams{WorkspaceID: q.ws, RunID: r.Run, Conversations: r.Conversations, Outcome: r.Outcome,
		Note: storable(r.Note)}
	if p.Conversations == nil {
		p.Conversations = []int64{}
	}
	for _, part := range []struct {
		into  *json.RawMessage
		value any
		there bool
	}{{&p.Mined, orEmpty(r.Cases), true}, {&p.Analysis, r.Analysis, r.Analysis != nil},
		{&p.Proposal, r.Proposal, r.Proposal != nil},
		{&p.Candidate, r.Candidate, r.Candidate != nil}, {&p.Comparison, r.Comparison, r.Comparison != nil}} {
		if !part.there {
			continue
		}
		raw, err := encode("the round", part.value)
		if err != nil {
			return err
		}
		*part.into = raw
	}
	return classify("save the round", q.q.RoundSave(ctx, p))
}

// DecideRound decides on a round that waits. It returns false if it no longer waits.
func (q RoundRepository) DecideRound(ctx context.Context, bank int64, number int, outcome, note string) (bool, error) {
	n, err := q.q.RoundDecide(ctx, dbsqlc.RoundDecideParams{WorkspaceID: q.ws, BankID: bank, Number: int32(number),
		Outcome: outcome, Note: storable(note)})
	return n == 1, classify("decide on the round", err)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func roundOf(r dbsqlc.EvolutionRound) (learning.Round, error) {
	out := learning.Round{Number: int(r.Number), Run: r.RunID, Base: int(r.Base), Conversations: r.Conversations,
		Outcome: r.Outcome, Note: r.Note, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
	for _, part := range []struct {
		raw  json.RawMessage
		into any
	}{{r.Mined, &out.Cases}, {r.Analysis, &out.Analysis}, {r.Proposal, &out.Proposal}, {r.Candidate, &out.Candidate},
		{r.Comparison, &out.Comparison}} {
		if len(part.raw) == 0 {
			continue
		}
		if err := json.Unmarshal(part.raw, part.into); err != nil {
			return out, fmt.Errorf("decode round %d: %w", r.Number, err)
		}
	}
	return out, nil
}

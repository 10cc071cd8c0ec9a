package store

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/learning"
	"cairn/internal/store/dbsqlc"
)

// PutUpdate stores an update in the shadow state, or finds the one of its run.
func (q UpdateRepository) PutUpdate(ctx context.Context, bank int64, u learning.Update) (learning.Update, error) {
	shadow, err := encode("the comparison", u.Shadow)
	if err != nil {
		return u, err
	}
	r, err := q.q.UpdatePut(ctx, dbsqlc.UpdatePutParams{WorkspaceID: q.ws, BankID: bank, RunID: u.Run,
		Base: int32(u.Base), PolicySha: u.Policy, OptimizerSha: u.Optimizer, Decisions: int32(u.Decisions),
		Shadow: shadow})
	if err != nil {
		return u, classify("store the update", err)
	}
	return updateOf(r)
}

// MoveUpdate moves an update to another state. It returns false if the update is not in state
// before.
func (q UpdateRepository) MoveUpdate(ctx context.Context, bank int64, before string, u learning.Update) (bool,
	error) {
	shadow, err := encode("the comparison", u.Shadow)
	if err != nil {
		return false, err
	}
	var canary json.RawMessage
	if u.Canary != nil {
		if canary, err = encode("the comparison", u.Canary); err != nil {
			return false, err
		}
	}
	n, err := q.q.UpdateMove(ctx, dbsqlc.UpdateMoveParams{
		State:       u.State,
		Shadow:      shadow,
		Canary:      canary,
		Note:        storable(u.Note),
		Ended:       u.State != learning.OnCanary,
		WorkspaceID: q.ws,
		BankID:      bank,
		Number:      int32(u.Number),
		Before:      before,
	})
	return n == 1, classify("change the update's state", err)
}

// OpenUpdate returns the update of a bank that is neither promoted nor dropped.
func (q UpdateRepository) OpenUpdate(ctx context.Context, bank int64) (learning.Update, bool, error) {
	r, err := q.q.UpdateOpen(ctx, dbsqlc.UpdateOpenParams{WorkspaceID: q.ws, BankID: bank})
	if isNoRows(err) {
		return learning.Update{}, false, nil
	}
	if err != nil {
		return learning.Update{}, false, classify("find an update", err)
	}
	u, err := updateOf(r)
	return u, err == nil, err
}

// UpdateAt returns an update of a bank by its number, if it exists.
func (q UpdateRepository) UpdateAt(ctx context.Context, bank int64, number int) (learning.Update, bool, error) {
	r, err := q.q.UpdateAt(ctx, dbsqlc.UpdateAtParams{WorkspaceID: q.ws, BankID: bank, Number: int32(number)})
	if isNoRows(err) {
		return learning.Update{}, false, nil
	}
	if err != nil {
		return learning.Update{}, false, classify("find the update", err)
	}
	u, err := updateOf(r)
	return u, err == nil, err
}

// Updates lists the updates of a bank before a number, the latest first; 0 is no number.
func (q UpdateRepository) Updates(ctx context.Context, bank int64, before, most int) ([]learning.Update, error) {
	rows, err := q.q.UpdatesOf(ctx, dbsqlc.UpdatesOfParams{WorkspaceID: q.ws, BankID: bank, Before: int32(before),
		MaxRows: int32(most)})
	if err != nil {
		return nil, classify("list the updates", err)
	}
	out := make([]learning.Update, len(rows))
	for i, r := range rows {
		if out[i], err = updateOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func updateOf(r dbsqlc.PolicyUpdate) (u learning.Update, err error) {
	u = learning.Update{Number: int(r.Number), Run: r.RunID, Base: int(r.Base), State: r.State, Policy: r.PolicySha,
		Optimizer: r.OptimizerSha, Decisions: int(r.Decisions), Note: r.Note,
		CreatedAt: r.CreatedAt, CanaryAt: r.CanaryAt, EndedAt: r.EndedAt}
	if err = json.Unmarshal(r.Shadow, &u.Shadow); err == nil && r.Canary != nil {
		u.Canary = new(learning.Canary)
		err = json.Unmarshal(r.Canary, u.Canary)
	}
	if err != nil {
		err = fmt.Errorf("decode update %d: %w", r.Number, err)
	}
	return u, err
}

// CanaryScores returns the scores of answers on both sides of a canary.
func (q UpdateRepository) CanaryScores(ctx context.Context, bank int64, u learning.Update) (candidate,
	incumbent []learning.Outcome, err error) {
	if u.CanaryAt == nil {
		return nil, nil, nil
	}
	rows, err := q.q.CanaryOutcomes(ctx, dbsqlc.CanaryOutcomesParams{WorkspaceID: q.ws, BankID: bank,
		Base: int32(u.Base), Since: *u.CanaryAt, Number: int32(u.Number)})
	for _, r := range rows {
		o := learning.Outcome{Op: r.OpID, Score: r.Score, Voter: r.Voter}
		if r.Candidate {
			candidate = append(candidate, o)
		} else {
			incumbent = append(incumbent, o)
		}
	}
	return candidate, incumbent, classify("read the scores of the canary", err)
}

// CanaryLate reports whether a canary started more than 30 days ago.
func (q UpdateRepository) CanaryLate(ctx context.Context, u learning.Update) (bool, error) {
	if u.CanaryAt == nil {
		return false, nil
	}
	late, err := q.q.CanaryLate(ctx, *u.CanaryAt)
	return late, classify("read the age of the canary", err)
}

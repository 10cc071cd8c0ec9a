package explore

import (
	"context"
	"time"

	"cairn/internal/domain/paging"
	"cairn/internal/domain/run"
)

// BankStore reads what banks have learned.
type BankStore interface {
	ExploreRounds(ctx context.Context, ws int64, bank string, before int64, max int) ([]Round, error)
	ExploreTrainings(
		ctx context.Context,
		ws int64,
		bank string,
		before time.Time,
		beforeID string,
		max int,
	) ([]Training,
		error)
	ExploreCases(ctx context.Context, ws int64, bank, state string, before int64, runes, max int) ([]Case, error)
}

// Round is a round of the designer of a bank.
type Round struct {
	Number    int        `json:"round"`
	Run       string     `json:"run"`
	Base      int        `json:"base" doc:"Version of the bank from which it started"`
	Cases     int        `json:"cases" doc:"Number of hard cases that it examined"`
	Summary   string     `json:"summary,omitempty" doc:"The proposed edits"`
	Outcome   string     `json:"outcome,omitempty" doc:"Empty while it is open"`
	Note      string     `json:"note,omitempty" doc:"Why"`
	Gate      *Gate      `json:"gate,omitempty" doc:"Comparison with what live builds do; absent without one"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Gate is the comparison of a candidate on held-out conversations.
type Gate struct {
	Mean   float64 `json:"mean" doc:"Mean difference to what live builds do"`
	Lower  float64 `json:"lower" doc:"Lower bound of the mean"`
	Traces int     `json:"traces" doc:"Number of held-out conversations"`
}

// Training is a training of a bank.
type Training struct {
	Run       string      `json:"run"`
	Status    run.Status  `json:"status"`
	Outcome   run.Outcome `json:"outcome,omitempty" doc:"Empty while it is open"`
	Verdict   string      `json:"verdict,omitempty" doc:"Result of the gate; empty if it did not get there"`
	Version   int         `json:"bank_version,omitempty" doc:"Promoted version; absent without one"`
	Stages    int         `json:"stages"`
	Best      float64     `json:"best_score"`
	Note      string      `json:"note,omitempty" doc:"Why"`
	Gate      *Gate       `json:"gate,omitempty" doc:"Comparison with what live builds do; absent without one"`
	CreatedAt time.Time   `json:"created_at"`
	EndedAt   *time.Time  `json:"ended_at,omitempty"`
}

// Case is a hard case of a bank: a question that failed.
type Case struct {
	ID           int64     `json:"id"`
	Source       string    `json:"source" doc:"How it was found, such as feedback or import"`
	State        string    `json:"state" enum:"open,resolved,expired"`
	Question     string    `json:"question" doc:"Shortened"`
	Gold         []string  `json:"gold" doc:"Correct answers, if they are known"`
	Prediction   string    `json:"prediction,omitempty" doc:"The answer that failed, shortened"`
	Score        float64   `json:"score"`
	Failures     int       `json:"failures"`
	Conversation string    `json:"conversation,omitempty" doc:"Source of the answer"`
	Run          string    `json:"run,omitempty"`
	FailedAt     time.Time `json:"failed_at" doc:"Of the last failure"`
	CreatedAt    time.Time `json:"created_at"`
}

// Rounds returns a page of the rounds of a bank, the latest first.
func (s *Service) Rounds(ctx context.Context, ws int64, bank, cursor string, limit int) (page []Round, next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreRounds(ctx, ws, bank, before, max)
	page, next = paging.Cut(rows, limit, func(last Round) string { return paging.ByNumber(last.Number) })
	return page, next, err
}

// Trainings returns a page of the trainings of a bank, the latest first.
func (s *Service) Trainings(
	ctx context.Context,
	ws int64,
	bank, cursor string,
	limit int,
) (page []Training, next string,
	err error) {
	before, id, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreTrainings(ctx, ws, bank, before, id, max)
	page, next = paging.Cut(rows, limit, func(last Training) string { return paging.ByTime(last.CreatedAt, last.Run) })
	return page, next, err
}

// Cases returns a page of the hard cases of a bank, the latest first. An empty state selects all.
func (s *Service) Cases(ctx context.Context, ws int64, bank, state, cursor string, limit int) (page []Case, next string,
	err error) {
	before, max, err := paging.Number(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreCases(ctx, ws, bank, state, before, listRunes, max)
	page, next = paging.Cut(rows, limit, func(last Case) string { return paging.ByNumber(last.ID) })
	return page, next, err
}

package client

import (
	"context"
	"crypto/rand"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Bank is a version of a bank of memory skills.
type Bank struct {
	Name    string `json:"bank"`
	Version struct {
		Number int    `json:"number"`
		Action string `json:"action"`
		Reason string `json:"reason"`
	} `json:"version"`
	FrozenAt *time.Time `json:"frozen_at"` // nil if the bank may change
}

// Bank returns the active version of a bank.
func (c *Client) Bank(ctx context.Context, name string) (out Bank, err error) {
	err = c.call(ctx, http.MethodGet, bankPath(name), nil, &out, "")
	return out, err
}

// FreezeBank makes a bank keep its active version. It needs the scope admin.
func (c *Client) FreezeBank(ctx context.Context, name string) (out Bank, err error) {
	err = c.call(ctx, http.MethodPost, bankPath(name)+"/freeze", nil, &out, rand.Text())
	return out, err
}

// UnfreezeBank lets a frozen bank change again. It needs the scope admin.
func (c *Client) UnfreezeBank(ctx context.Context, name string) (out Bank, err error) {
	err = c.call(ctx, http.MethodPost, bankPath(name)+"/unfreeze", nil, &out, rand.Text())
	return out, err
}

// Gate is the comparison of a candidate with what live builds do, on held-out conversations.
type Gate struct {
	Mean   float64 `json:"mean"`
	Lower  float64 `json:"lower"` // lower bound of the mean
	Traces int     `json:"traces"`
}

// BankRound is a round of the designer.
type BankRound struct {
	Number    int        `json:"round"`
	Run       string     `json:"run"`
	Base      int        `json:"base"`
	Cases     int        `json:"cases"`
	Summary   string     `json:"summary"`
	Outcome   string     `json:"outcome"` // empty while it is open
	Note      string     `json:"note"`
	Gate      *Gate      `json:"gate"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// BankTraining is a training of a bank.
type BankTraining struct {
	Run       string     `json:"run"`
	Status    string     `json:"status"`
	Outcome   string     `json:"outcome"` // empty while it is open
	Verdict   string     `json:"verdict"`
	Version   int        `json:"bank_version"` // 0 if nothing was promoted
	Stages    int        `json:"stages"`
	Best      float64    `json:"best_score"`
	Note      string     `json:"note"`
	Gate      *Gate      `json:"gate"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at"`
}

// BankCase is a question that failed, from which the designer learns.
type BankCase struct {
	ID           int64     `json:"id"`
	Source       string    `json:"source"`
	State        string    `json:"state"` // open, resolved or expired
	Question     string    `json:"question"`
	Gold         []string  `json:"gold"`
	Prediction   string    `json:"prediction"`
	Score        float64   `json:"score"`
	Failures     int       `json:"failures"`
	Conversation string    `json:"conversation"`
	Run          string    `json:"run"`
	FailedAt     time.Time `json:"failed_at"`
}

// BankRounds lists the rounds of a bank, the latest first. The iterator requests more of them as it needs them, and
// ends after an error.
func (c *Client) BankRounds(ctx context.Context, bank string) iter.Seq2[BankRound, error] {
	return list[BankRound](ctx, c, bankPath(bank)+"/rounds", "rounds", nil)
}

// BankTrainings is [Client.BankRounds] for trainings.
func (c *Client) BankTrainings(ctx context.Context, bank string) iter.Seq2[BankTraining, error] {
	return list[BankTraining](ctx, c, bankPath(bank)+"/trainings", "trainings", nil)
}

// BankCases is [Client.BankRounds] for hard cases.
func (c *Client) BankCases(ctx context.Context, bank string) iter.Seq2[BankCase, error] {
	return list[BankCase](ctx, c, bankPath(bank)+"/cases", "cases", nil)
}

// BankDecision is a choice of memory skills for a span of messages.
type BankDecision struct {
	ID          string    `json:"id"`
	Run         string    `json:"run"`
	BankVersion int       `json:"bank_version"`
	Canary      int       `json:"canary"` // update on trial that chose, 0 if none
	Span        int       `json:"span"`
	Candidates  int       `json:"candidates"` // skills that could be chosen
	Chosen      []string  `json:"chosen"`     // IDs of the skills
	Propensity  float64   `json:"propensity"` // probability of the choice
	Sampled     bool      `json:"sampled"`    // drawn, not the best
	Outcome     string    `json:"outcome"`
	Score       *float64  `json:"score"` // mean of its scores, nil without one
	Scores      int       `json:"scores"`
	Tokens      int64     `json:"tokens"`
	CreatedAt   time.Time `json:"created_at"`
}

// BankDecisions is [Client.BankRounds] for decisions.
func (c *Client) BankDecisions(ctx context.Context, bank string) iter.Seq2[BankDecision, error] {
	return list[BankDecision](ctx, c, bankPath(bank)+"/decisions", "decisions", nil)
}

// BankScore summarizes the scores of the decisions of a bank on one local day.
type BankScore struct {
	Day    string  `json:"day"`    // such as 2026-03-01
	Canary bool    `json:"canary"` // of policies on trial
	N      int     `json:"n"`
	Mean   float64 `json:"mean"`
	Low    float64 `json:"low"` // 95 % confidence interval
	High   float64 `json:"high"`
}

// BankScores returns the scores of 90 days, the earliest first.
func (c *Client) BankScores(ctx context.Context, bank string) ([]BankScore, error) {
	var out struct {
		Scores []BankScore `json:"scores"`
	}
	err := c.call(ctx, http.MethodGet, bankPath(bank)+"/scores", nil, &out, "")
	return out.Scores, err
}

// PromoteUpdate accepts a policy update on trial that is better than the active policy, but has too few voters for an
// automatic promotion. It needs the scope admin.
func (c *Client) PromoteUpdate(ctx context.Context, bank string, update int64) (out Bank, err error) {
	err = c.call(ctx, http.MethodPost, bankPath(bank)+"/promote", map[string]int64{"update": update}, &out, rand.Text())
	return out, err
}

func bankPath(name string) string { return "/v1/banks/" + url.PathEscape(name) }

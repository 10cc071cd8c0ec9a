package client

import (
	"context"
	"crypto/rand"
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
	err = c.call(ctx, http.MethodGet, "/v1/banks/"+url.PathEscape(name), nil, &out, "")
	return out, err
}

// FreezeBank makes a bank keep its active version. It needs the scope admin.
func (c *Client) FreezeBank(ctx context.Context, name string) (out Bank, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/banks/"+url.PathEscape(name)+"/freeze", nil, &out, rand.Text())
	return out, err
}

// UnfreezeBank lets a frozen bank change again. It needs the scope admin.
func (c *Client) UnfreezeBank(ctx context.Context, name string) (out Bank, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/banks/"+url.PathEscape(name)+"/unfreeze", nil, &out, rand.Text())
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

// BankRounds returns a page of the rounds of a bank, the latest first, and the cursor of the next page, which is empty
// on the last one. An empty cursor selects the first page.
func (c *Client) BankRounds(ctx context.Context, bank, cursor string) ([]BankRound, string, error) {
	var out struct {
		Rounds     []BankRound `json:"rounds"`
		NextCursor string      `json:"next_cursor"`
	}
	err := c.bankPage(ctx, bank, "rounds", cursor, &out)
	return out.Rounds, out.NextCursor, err
}

// BankTrainings is [Client.BankRounds] for trainings.
func (c *Client) BankTrainings(ctx context.Context, bank, cursor string) ([]BankTraining, string, error) {
	var out struct {
		Trainings  []BankTraining `json:"trainings"`
		NextCursor string         `json:"next_cursor"`
	}
	err := c.bankPage(ctx, bank, "trainings", cursor, &out)
	return out.Trainings, out.NextCursor, err
}

// BankCases is [Client.BankRounds] for hard cases.
func (c *Client) BankCases(ctx context.Context, bank, cursor string) ([]BankCase, string, error) {
	var out struct {
		Cases      []BankCase `json:"cases"`
		NextCursor string     `json:"next_cursor"`
	}
	err := c.bankPage(ctx, bank, "cases", cursor, &out)
	return out.Cases, out.NextCursor, err
}

func (c *Client) bankPage(ctx context.Context, bank, list, cursor string, into any) error {
	path := "/v1/banks/" + url.PathEscape(bank) + "/" + list
	if cursor != "" {
		path += "?cursor=" + url.QueryEscape(cursor)
	}
	return c.call(ctx, http.MethodGet, path, nil, into, "")
}

// Package support signs operators in to the console of the installation, and counts what all workspaces hold and do:
// ids, states, spend and error codes, without names and texts.
//
//	cookie, err := service.SignIn(ctx, operator)
//	page, next, err := service.Workspaces(ctx, 0, 50)
package support

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/service/apikey"
)

// Hash is the SHA-256 hash of a cookie, the only stored form.
type Hash = [sha256.Size]byte

// Session is an operator who is signed in.
type Session struct {
	apikey.Operator
	Idle bool // no use was recorded in the last minute
}

// Workspace is what is known of a workspace.
type Workspace struct {
	ID            int64     `json:"id"`
	Key           string    `json:"key" doc:"Identifies it in workflow IDs"`
	State         string    `json:"state" enum:"active,erasing"`
	CreatedAt     time.Time `json:"created_at"`
	Conversations int64     `json:"conversations"`
	Memories      int64     `json:"memories" doc:"Active ones"`
	Skills        int64     `json:"skills" doc:"Active ones"`
	OpenRuns      int64     `json:"open_runs" doc:"Of the last 24 hours"`
	FailedRuns    int64     `json:"failed_runs" doc:"Of the last 24 hours"`
	Waiting       int64     `json:"outbox_tasks"`
	Stuck         int64     `json:"stuck_tasks"`
	Calls         int64     `json:"calls" doc:"Model calls of the last 24 hours"`
	FailedCalls   int64     `json:"failed_calls"`
	Tokens        int64     `json:"tokens"`
	Micros        int64     `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
	Unpriced      int64     `json:"unpriced_calls"`
	LastTurn      time.Time `json:"last_turn_at,omitzero"`
}

// Count is a number of calls, runs or outbox tasks of a workspace with the same code.
type Count struct {
	What   string    `json:"what" enum:"call,run,outbox"`
	Kind   string    `json:"kind" doc:"Model of a call, kind of a run or a task"`
	Code   string    `json:"code" doc:"Class of an error, outcome or state"`
	N      int64     `json:"n"`
	Latest time.Time `json:"latest_at"`
}

// Store reads and writes without a workspace.
type Store interface {
	PutOperatorSession(ctx context.Context, cookie Hash, key int64) error
	// OperatorSession returns the operator of a cookie. It returns NotFound if it has ended.
	OperatorSession(ctx context.Context, cookie Hash) (Session, error)
	UseOperatorSession(ctx context.Context, cookie Hash) error
	EndOperatorSession(ctx context.Context, cookie Hash) error
	// SupportWorkspaces lists workspaces in order of their IDs; only, if it is not 0, names one.
	SupportWorkspaces(ctx context.Context, after, only int64, max int) ([]Workspace, error)
	SupportErrors(ctx context.Context, ws int64) ([]Count, error)
}

// Ports are the dependencies of the service.
type Ports struct{ Store Store }

// Service shows workspaces to operators. It is safe for concurrent use.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	if err := ports.Require("support", map[string]any{"Store": p.Store}); err != nil {
		return nil, err
	}
	return &Service{p}, nil
}

// SignIn returns a new cookie for an operator with the scope support.
func (s *Service) SignIn(ctx context.Context, o apikey.Operator) (cookie string, err error) {
	if !o.Allows(apikey.Support) {
		return "", fault.New(fault.OutOfScope, "operator scope support required",
			"create a key with `cairn keys create --operator --scopes support --name NAME`")
	}
	cookie = rand.Text() + rand.Text()
	return cookie, s.Store.PutOperatorSession(audit.WithKey(ctx, audit.Operator, o.Key), hashOf(cookie), o.Key)
}

// Find returns the operator of a cookie. It returns NotFound if it is unknown or has ended.
func (s *Service) Find(ctx context.Context, cookie string) (apikey.Operator, error) {
	if cookie == "" {
		return apikey.Operator{}, fault.New(fault.NotFound, "not signed in as an operator",
			"sign in with an operator key")
	}
	found, err := s.Store.OperatorSession(ctx, hashOf(cookie))
	if err != nil {
		return found.Operator, err
	}
	if !found.Allows(apikey.Support) {
		return found.Operator, fault.New(fault.OutOfScope, "operator scope support required",
			"sign in with a key that has the scope")
	}
	if found.Idle {
		err = s.Store.UseOperatorSession(ctx, hashOf(cookie))
	}
	return found.Operator, err
}

// SignOut ends a session.
func (s *Service) SignOut(ctx context.Context, cookie string) error {
	return s.Store.EndOperatorSession(ctx, hashOf(cookie))
}

// Workspaces returns a page of workspaces in order of their IDs, and the ID after which the next page begins, 0 on the
// last one.
func (s *Service) Workspaces(ctx context.Context, after int64, limit int) (page []Workspace, next int64, err error) {
	page, err = s.Store.SupportWorkspaces(ctx, after, 0, limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit-1].ID
	}
	return page, next, err
}

// Workspace returns a workspace with its counts by code.
func (s *Service) Workspace(ctx context.Context, id int64) (w Workspace, counts []Count, err error) {
	found, err := s.Store.SupportWorkspaces(ctx, 0, id, 1)
	if err != nil {
		return w, nil, err
	}
	if len(found) == 0 || id == 0 {
		return w, nil, fault.New(fault.NotFound, fmt.Sprintf("workspace %d not found", id), "list the workspaces")
	}
	counts, err = s.Store.SupportErrors(ctx, id)
	return found[0], counts, err
}

func hashOf(cookie string) Hash { return sha256.Sum256([]byte(cookie)) }

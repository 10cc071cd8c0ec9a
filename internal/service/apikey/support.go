package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

// SupportPorts are the dependencies of the service.
type SupportPorts struct{ Store store.Support }

// Support signs operators in to the console of the installation, and counts what all workspaces hold and do:
// ids, states, spend and error codes, without names and texts.
//
//	cookie, err := service.SignIn(ctx, operator)
//	page, next, err := service.Workspaces(ctx, 0, 50)
type Support struct{ SupportPorts }

// NewSupport returns a Service.
func NewSupport(p SupportPorts) *Support {
	return &Support{p}
}

// SignIn returns a new cookie for an operator with the scope support.
func (s *Support) SignIn(ctx context.Context, o access.Operator) (cookie string, err error) {
	if !o.Allows(access.Support) {
		return "", fault.New(fault.OutOfScope, "operator scope support required",
			"create a key with `cairn keys create --operator --scopes support --name NAME`")
	}
	cookie = rand.Text() + rand.Text()
	return cookie, s.Store.PutOperatorSession(audit.WithKey(ctx, audit.Operator, o.Key), hashOf(cookie), o.Key)
}

// Find returns the operator of a cookie. It returns NotFound if it is unknown or has ended.
func (s *Support) Find(ctx context.Context, cookie string) (access.Operator, error) {
	if cookie == "" {
		return access.Operator{}, fault.New(fault.NotFound, "not signed in as an operator",
			"sign in with an operator key")
	}
	found, err := s.Store.OperatorSession(ctx, hashOf(cookie))
	if err != nil {
		return found.Operator, err
	}
	if !found.Allows(access.Support) {
		return found.Operator, fault.New(fault.OutOfScope, "operator scope support required",
			"sign in with a key that has the scope")
	}
	if found.Idle {
		err = s.Store.UseOperatorSession(ctx, hashOf(cookie))
	}
	return found.Operator, err
}

// SignOut ends a session.
func (s *Support) SignOut(ctx context.Context, cookie string) error {
	return s.Store.EndOperatorSession(ctx, hashOf(cookie))
}

// Workspaces returns a page of workspaces in order of their IDs, and the ID after which the next page begins, 0 on the
// last one.
func (s *Support) Workspaces(ctx context.Context, after int64, limit int) (page []access.WorkspaceSummary, next int64,
	err error) {
	page, err = s.Store.SupportWorkspaces(ctx, after, 0, limit+1)
	if len(page) > limit {
		page, next = page[:limit], page[limit-1].ID
	}
	return page, next, err
}

// Workspace returns a workspace with its counts by code.
func (s *Support) Workspace(ctx context.Context, id int64) (w access.WorkspaceSummary, counts []access.WorkspaceCount,
	err error) {
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

func hashOf(cookie string) access.SupportHash { return sha256.Sum256([]byte(cookie)) }

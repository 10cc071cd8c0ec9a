package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/store"
)

const (
	tokenBytes = 32 // random bytes of a cookie and of a code
	// SignInCodeLife is the time for which the code of a link can be redeemed. The database enforces it.
	SignInCodeLife = time.Minute
	// ConsoleSessionLife is the time after which a session ends, however often it is used. The database enforces it.
	ConsoleSessionLife = 7 * 24 * time.Hour
)

// ConsoleSessionsPorts are the dependencies of the service.
type ConsoleSessionsPorts struct{ Store store.ConsoleSessions }

// ConsoleSessions signs browsers in to the web console. A browser holds a random cookie, of which only the
// hash is stored. The cookie grants access to one or more workspaces, each through an API key or a sign-in link:
//
//	cookie, err := service.SignIn(ctx, "", principal)
//	grants, err := service.Grants(ctx, cookie)
type ConsoleSessions struct{ ConsoleSessionsPorts }

// NewConsoleSessions returns a Service.
func NewConsoleSessions(p ConsoleSessionsPorts) *ConsoleSessions {
	return &ConsoleSessions{ConsoleSessionsPorts: p}
}

// SignIn gives a new cookie the access of a key, and the grants of the present cookie, which may be empty. The
// cookie changes with each sign-in, so that a cookie that someone else has planted gains nothing.
func (s *ConsoleSessions) SignIn(ctx context.Context, present string, h access.Principal) (cookie string, err error) {
	if h.Workspace.ID == 0 || h.Key == 0 || h.Account != "" {
		return "", fault.New(fault.OutOfScope, "the key of a gateway cannot sign in to the console",
			"use an API key of a workspace, from `cairn keys create`")
	}
	cookie = token()
	g := access.Grant{Workspace: h.Workspace, Key: h.Key, Scopes: h.Scopes}
	if err := s.Store.PutGrant(g.Acting(ctx), sha256.Sum256([]byte(cookie)), g); err != nil {
		return "", err
	}
	return cookie, s.carry(ctx, present, cookie, g)
}

// Redeem gives a new cookie the access of a link's code, and the grants of the present cookie.
func (s *ConsoleSessions) Redeem(ctx context.Context, present, code string) (cookie string, g access.Grant, err error) {
	cookie = token()
	g, err = s.Store.Redeem(ctx, sha256.Sum256([]byte(code)), sha256.Sum256([]byte(cookie)))
	if err != nil {
		return "", g, err
	}
	return cookie, g, s.carry(ctx, present, cookie, g)
}

// carry moves the grants of a cookie to another cookie, which has the grant of one workspace already.
func (s *ConsoleSessions) carry(ctx context.Context, from, to string, has access.Grant) error {
	grants, err := s.Grants(ctx, from)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if g.Workspace.ID == has.Workspace.ID {
			err = s.end(ctx, g)
		} else {
			err = s.Store.MoveGrant(ctx, g, sha256.Sum256([]byte(to)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *ConsoleSessions) end(ctx context.Context, g access.Grant) error {
	err := s.Store.EndSession(g.Acting(ctx), g.Workspace.ID, g.ID)
	if fault.CodeOf(err) == fault.NotFound { // ended in the meantime
		return nil
	}
	return err
}

// Grants returns the grants of a cookie, none if it is unknown.
func (s *ConsoleSessions) Grants(ctx context.Context, cookie string) ([]access.Grant, error) {
	if cookie == "" {
		return nil, nil
	}
	return s.Store.Grants(ctx, sha256.Sum256([]byte(cookie)))
}

// Use records the use of a grant, at most once a minute.
func (s *ConsoleSessions) Use(ctx context.Context, g access.Grant) error {
	if !g.Idle {
		return nil
	}
	return s.Store.UseGrant(ctx, g)
}

// SignOut ends all grants of a cookie.
func (s *ConsoleSessions) SignOut(ctx context.Context, cookie string) error {
	grants, err := s.Grants(ctx, cookie)
	if err != nil {
		return err
	}
	for _, g := range grants {
		if err := s.end(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// Link returns a new code that signs a browser in to a workspace once, within CodeLife.
func (s *ConsoleSessions) Link(ctx context.Context, ws access.Workspace, account string,
	scopes []access.Scope) (code string,
	err error) {
	g := access.Grant{Workspace: ws, Account: strings.TrimSpace(account)}
	for _, scope := range scopes {
		if !slices.Contains([]access.Scope{access.Read, access.Write, access.Admin}, scope) {
			return "", fault.New(fault.InvalidArgument, fmt.Sprintf("invalid scope %.40q", scope),
				"use read, write or admin")
		}
		g.Scopes = append(g.Scopes, string(scope))
	}
	if len(g.Scopes) == 0 {
		return "", fault.New(fault.InvalidArgument, "missing scope", "use read, write or admin")
	}
	if g.Account == "" {
		g.Account = "unknown"
	}
	code = token()
	return code, s.Store.PutCode(ctx, sha256.Sum256([]byte(code)), g)
}

// List lists the sessions of a workspace, the latest first.
func (s *ConsoleSessions) List(ctx context.Context, ws int64) ([]access.ConsoleSession, error) {
	return s.Store.Sessions(ctx, ws)
}

// End ends a session of a workspace.
func (s *ConsoleSessions) End(ctx context.Context, ws, id int64) error {
	return s.Store.EndSession(ctx, ws, id)
}

func token() string {
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand aborts the process instead
	return base64.RawURLEncoding.EncodeToString(random)
}

package channel

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/tenancy"
)

// Codes of pairings: their characters are not mistaken for each other.
const (
	codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // without 0, O, 1 and I
	codeLength   = 8
	mostPairings = 3 // of an account at a time
)

func newCode() string {
	raw := make([]byte, codeLength)
	rand.Read(raw) // never fails
	for i, b := range raw {
		raw[i] = codeAlphabet[int(b)%len(codeAlphabet)] // 256 is a multiple of 32: no character is preferred
	}
	return string(raw)
}

// pair stores a code for an unknown sender and sends it. A sender gets at most one reply an hour.
func (s *Service) pair(ctx context.Context, a Account, e channel.Event) error {
	code := newCode()
	tell, err := s.Pairings.PutPairing(
		ctx,
		Pairing{Account: a.Name, User: e.Sender.ID, Name: e.Sender.Name, Code: code},
		mostPairings,
	)
	if err != nil || !tell {
		return err
	}
	text := fmt.Sprintf("To talk to me, ask the operator to run: cairn people approve %s (valid for 1 hour)", code)
	if chinese(e.Text) {
		text = fmt.Sprintf("若要与我对话，请让管理员运行：cairn people approve %s（1 小时内有效）", code)
	}
	_, err = a.Adapter.Send(ctx, e.Place, channel.Part{Key: "pairing-" + code, Text: text})
	if err != nil { // the user asks again later
		s.Log.Warn("pairing code not sent", "account", a.Name, "error", err)
	}
	return nil
}

// Approve lets the user with a code write, in a workspace with the given name, or in a new one. The first user of
// an account is its administrator. Repeating it after a failure has no effect on what was done.
func (s *Service) Approve(ctx context.Context, code, workspace string) (out Identity, err error) {
	code = strings.ToUpper(strings.TrimSpace(code))
	open, err := s.Pairings.Pairings(ctx)
	if err != nil {
		return out, err
	}
	for _, p := range open {
		if p.Code != code {
			continue
		}
		_, out, err = s.join(ctx, Identity{Account: p.Account, User: p.User, Name: p.Name}, workspace)
		if err != nil {
			return out, err
		}
		return out, s.Pairings.DeletePairing(ctx, p.Account, p.User)
	}
	return out, fault.New(fault.NotFound, fmt.Sprintf("pairing code %.20q not found", code),
		"run `cairn people list` to see the open codes; the user gets a new one by writing again after an hour")
}

// join makes a user an identity of a workspace.
func (s *Service) join(
	ctx context.Context,
	i Identity,
	workspace string,
) (ws tenancy.Workspace, _ Identity, err error) {
	if workspace == "" {
		workspace = "person/" + i.Account + "/" + i.User // no name of an account has a slash
	}
	i.Role = RoleUser
	first, err := s.People.First(ctx, i.Account)
	if err != nil {
		return ws, i, err
	}
	if first {
		i.Role = RoleAdmin
	}
	if ws, err = s.Workspaces.Workspace(ctx, workspace, true); err != nil {
		return ws, i, err
	}
	if _, err = s.People.PutIdentity(ctx, ws.ID, i); err != nil {
		return ws, i, err
	}
	i.Workspace = workspace
	ws, _, _, err = s.People.Find(ctx, i.Account, i.User) // another process may have stored it first
	return ws, i, err
}

// SetRole changes what a user may do.
func (s *Service) SetRole(ctx context.Context, account, user, role string) error {
	if role != RoleAdmin && role != RoleUser && role != RoleBlocked {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid role %.20q", role), "use admin, user or blocked")
	}
	ws, _, found, err := s.People.Find(ctx, account, user)
	if err == nil && found {
		found, err = s.People.SetRole(ctx, ws.ID, account, user, role)
	}
	if err == nil && !found {
		err = fault.New(fault.NotFound, fmt.Sprintf("user %.80q of account %.80q not found", user, account),
			"run `cairn people list` to see all users")
	}
	return err
}

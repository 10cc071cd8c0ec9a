package channel

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
)

// Kinds of identities.
const (
	KindUser  = "user"
	KindGroup = "group"
)

// Roles of identities.
const (
	RoleAdmin = "admin"
	RoleUser  = "user"
)

// Codes of pairings: their characters are not mistaken for each other.
const (
	codeAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789" // without 0, O, 1 and I
	codeLength   = 8
	maxPairings  = 3 // of an account at a time
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
	tell, err := s.Store.PutPairing(
		ctx,
		channel.Pairing{Account: a.Name, User: e.Sender.ID, Name: e.Sender.Name, Code: code},
		maxPairings,
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

// Approve lets the user with a code write, in a workspace with the given name, or in a new one. If an account has no
// user yet, the approved one is its administrator. Repeating it after a failure has no effect on what was done.
func (s *Service) Approve(ctx context.Context, code, workspace string) (out channel.Identity, err error) {
	code = strings.ToUpper(strings.TrimSpace(code))
	open, err := s.Store.Pairings(ctx)
	if err != nil {
		return out, err
	}
	for _, p := range open {
		if p.Code != code {
			continue
		}
		i := channel.Identity{Account: p.Account, Kind: KindUser, User: p.User, Name: p.Name}
		first, err := s.Store.First(ctx, p.Account)
		if err != nil {
			return out, err
		}
		if first {
			i.Role = RoleAdmin
		}
		if _, out, err = s.join(ctx, i, workspace); err != nil {
			return out, err
		}
		return out, s.Store.DeletePairing(ctx, p.Account, p.User)
	}
	return out, fault.New(fault.NotFound, fmt.Sprintf("pairing code %.20q not found", code),
		"run `cairn people list` to see the open codes; the user gets a new one by writing again after an hour")
}

// ApproveFor is Approve for a code of one account, in a new workspace.
func (s *Service) ApproveFor(ctx context.Context, account, code string) (out channel.Identity, err error) {
	open, err := s.Store.Pairings(ctx)
	if err != nil {
		return out, err
	}
	code = strings.ToUpper(strings.TrimSpace(code))
	if !slices.ContainsFunc(open, func(p channel.Pairing) bool { return p.Account == account && p.Code == code }) {
		return out, fault.New(fault.NotFound, fmt.Sprintf("pairing code %.20q not found", code),
			"a code is valid for an hour; the user gets a new one by writing again after that")
	}
	return s.Approve(ctx, code, "")
}

// Join returns the workspace of a user of an account, and makes one for the first request of a user.
func (s *Service) Join(ctx context.Context, account, user string) (access.Workspace, error) {
	ws, _, err := s.join(ctx, channel.Identity{Account: account, Kind: KindUser, User: user}, "")
	return ws, err
}

// join makes a user or a group an identity of a workspace.
func (s *Service) join(
	ctx context.Context,
	i channel.Identity,
	workspace string,
) (ws access.Workspace, _ channel.Identity, err error) {
	i.Role = cmp.Or(i.Role, RoleUser)
	if workspace == "" {
		prefix := map[string]string{KindUser: "person/", KindGroup: "group/"}[i.Kind]
		workspace = prefix + i.Account + "/" + i.User // no name of an account has a slash
	}
	if ws, err = s.Workspaces.Workspace(ctx, workspace, true); err != nil {
		return ws, i, err
	}
	if _, err = s.Store.PutIdentity(ctx, ws.ID, i); err != nil {
		return ws, i, err
	}
	i.Workspace = workspace
	ws, _, _, err = s.Store.Find(ctx, i.Account, i.Kind, i.User) // another process may have stored it first
	return ws, i, err
}

// PeopleOf lists the users and groups of a workspace.
func (s *Service) PeopleOf(ctx context.Context, ws int64, max int) ([]channel.Identity, error) {
	return s.Store.IdentitiesOf(ctx, ws, max)
}

// SetRole changes what a user may do. Of a group, it can be user or blocked.
func (s *Service) SetRole(ctx context.Context, account, kind, user, role string) error {
	if kind == KindGroup && role == RoleAdmin {
		return fault.New(fault.InvalidArgument, "a group cannot be an administrator", "use user or blocked")
	}
	if role != RoleAdmin && role != RoleUser && role != channel.RoleBlocked {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid role %.20q", role), "use admin, user or blocked")
	}
	ws, _, found, err := s.Store.Find(ctx, account, kind, user)
	if err == nil && found {
		found, err = s.Store.SetRole(ctx, ws.ID, account, kind, user, role)
	}
	if err == nil && !found {
		err = fault.New(fault.NotFound, fmt.Sprintf("%s %.80q of account %.80q not found", kind, user, account),
			"run `cairn people list` to see all users and groups")
	}
	return err
}

// LinkCode returns a code that the user sends from another platform within 10 minutes, as /link CODE. It links one
// user.
func (s *Service) LinkCode(ctx context.Context, account, user, name string) (code string, err error) {
	code = newCode()
	return code, s.Store.PutLink(ctx, channel.Pairing{Account: account, User: user, Name: name, Code: code})
}

// link lets an unknown user write who sends the code of a known one.
func (s *Service) link(ctx context.Context, a Account, e channel.Event) (ws access.Workspace, ok bool, err error) {
	name, code, isCommand := s.commandOf(e)
	if !isCommand || name != "link" || code == "" {
		return ws, false, nil
	}
	account, user, found, err := s.claim(ctx, a.Name, e.Sender.ID, code)
	if fault.CodeOf(err) == fault.RateLimited {
		return ws, false, nil
	}
	if err != nil || !found {
		return ws, false, err
	}
	ws, role, found, err := s.Store.Find(ctx, account, KindUser, user)
	if err != nil || !found || role == channel.RoleBlocked {
		return ws, false, err
	}
	_, err = s.Store.PutIdentity(ctx, ws.ID, channel.Identity{Account: a.Name, Kind: KindUser, User: e.Sender.ID,
		Name: e.Sender.Name, Role: RoleUser})
	return ws, err == nil, err
}

// claim returns the user of a code that another user has sent. The platform vouches for the sender, so one who has
// guessed many codes is refused without a lookup, and no other one waits.
func (s *Service) claim(ctx context.Context, account, sender, code string) (of, user string, found bool, err error) {
	by := account + "/" + sender
	if err := s.attempts.Spent(by); err != nil {
		return "", "", false, err
	}
	err = s.attempts.Look(ctx, by, func(ctx context.Context) (err error) {
		of, user, found, err = s.Store.ClaimLink(ctx, strings.ToUpper(code), by)
		if err == nil && !found {
			err = unknownLink()
		}
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		err = nil
	}
	return of, user, found, err
}

// Link joins the workspaces of two known users, of whom one has sent the code of the other. The workspace with
// memories is kept.
func (s *Service) Link(ctx context.Context, account, user, code string) (workspace string, err error) {
	other, otherUser, found, err := s.claim(ctx, account, user, code)
	if err != nil {
		return "", err
	}
	if !found {
		return "", unknownLink()
	}
	ours, _, _, err := s.Store.Find(ctx, account, KindUser, user)
	if err != nil {
		return "", err
	}
	theirs, role, found, err := s.Store.Find(ctx, other, KindUser, otherUser)
	if err == nil && (!found || role == channel.RoleBlocked) { // erased or blocked since
		err = unknownLink()
	}
	if err != nil || ours.ID == theirs.ID {
		return theirs.Name, err
	}
	here, err := s.Store.Remembers(ctx, ours.ID)
	if err != nil || !here {
		return theirs.Name, s.moved(ctx, err, account, user, theirs.ID)
	}
	there, err := s.Store.Remembers(ctx, theirs.ID)
	if err == nil && there {
		return "", fault.New(
			fault.VersionConflict,
			"both sides have memories",
			fmt.Sprintf("an operator copies those of one with `cairn memories copy --from %[1]s --workspace %[2]s`, "+
				"then erases it with `cairn erase %[1]s`", ours.Name, theirs.Name),
		)
	}
	return ours.Name, s.moved(ctx, err, other, otherUser, ours.ID)
}

func unknownLink() error {
	return fault.New(fault.NotFound, "the code is unknown or older than 10 minutes",
		"send /link on the other platform to get a new code")
}

func (s *Service) moved(ctx context.Context, err error, account, user string, ws int64) error {
	if err != nil {
		return err
	}
	return s.Store.Move(ctx, account, user, ws)
}

// inOneLine returns a name in one line, without control characters and without those that change the direction of text.
func inOneLine(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, ""), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}

package edge

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// Terms are what a route asks of a request. The zero value of each field but Scope is the usual case.
type Terms struct {
	Scope access.Scope
	Limit Limit
	// Key is the key of the request, if it is not a bearer token.
	Key string
	// Person finds the user for whom the key of a gateway acts, if no header names one. It runs after the key is
	// checked, and may read the body. Nil means that only headers name users.
	Person func() (string, error)
	// PersonOptional admits the key of a gateway without a user. The route then reads nothing of a workspace. Routes
	// for the scope gateway need no user either.
	PersonOptional bool
}

// Limit is what limits the requests of a key.
type Limit int

const (
	ByNumber Limit = iota // requests per second
	ByBytes               // bytes per second, for batches
	Unlimited
)

type callerKey struct{}

// Caller returns the principal of an admitted request. The workspace of a request always comes from it.
func Caller(ctx context.Context) access.Principal { return ctx.Value(callerKey{}).(access.Principal) }

// Admit returns the context of a request whose key is valid, within its limit, and has the scope. The context has the
// Caller, and names it as the author of what is done. The key of a gateway acts for a user; without one, the request
// is refused with PersonRequired. Admit runs before the body is read.
func (e *Edge) Admit(r *http.Request, t Terms) (context.Context, error) {
	key := cmp.Or(t.Key, bearerKey(r))
	h, err := e.authenticate(r.Context(), key, cmp.Or(r.Header.Get("X-Cairn-Person"),
		r.Header.Get("X-OpenWebUI-User-Id")))
	if err != nil {
		return nil, err
	}
	if err := e.limit(r, h, t.Limit); err != nil {
		return nil, err
	}
	if !t.Scope.Allows(h.Scopes) {
		return nil, fault.Newf(fault.OutOfScope, "scope %s required; the key has %s", t.Scope,
			strings.Join(h.Scopes, ", "))
	}
	if h.Workspace.ID == 0 && !t.PersonOptional && t.Scope != access.Gateway {
		if h, err = e.actFor(r.Context(), key, t.Person); err != nil {
			return nil, err
		}
	}
	return acting(context.WithValue(r.Context(), callerKey{}, h), h), nil
}

// acting returns a context in which the holder of a key is the author of what is done. The number of a gateway's key
// is that of an operator key, and its user is named next to it.
func acting(ctx context.Context, h access.Principal) context.Context {
	a := audit.From(ctx)
	a.Kind, a.KeyID, a.Account = HolderOf(h).Kind, h.Key, ""
	if h.Person != "" {
		a.Account = h.Account + "/" + h.Person
	}
	return audit.With(ctx, a)
}

// actFor returns the principal of a gateway's key for the user that find returns.
func (e *Edge) actFor(ctx context.Context, key string, find func() (string, error)) (h access.Principal, err error) {
	person := ""
	if find != nil {
		if person, err = find(); err != nil {
			return h, err
		}
	}
	if person == "" {
		return h, fault.New(fault.PersonRequired, "the key of a gateway acts for a user", "")
	}
	return e.authenticate(ctx, key, person)
}

// authenticate returns the principal of a key, which acts for a user if it is that of a gateway. It does not
// distinguish an unknown key from a revoked or an expired one.
func (e *Edge) authenticate(ctx context.Context, key, person string) (h access.Principal, err error) {
	if key == "" {
		return h, missingKey()
	}
	err = e.look(ctx, key, func(ctx context.Context) (err error) {
		h, err = e.principal(ctx, key, person)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		return h, NewProblem(fault.Unauthenticated, "invalid API key", "the key may be revoked or expired: list the "+
			"keys of the workspace with `cairn keys list`, or create one with `cairn keys create --name laptop`").
			With(challenge, invalidToken)
	}
	if err != nil {
		return h, fmt.Errorf("authenticate: %w", err)
	}
	return h, nil
}

// look looks a key up. A key that was valid before is looked up at once; other lookups are bounded, and the answers to
// invalid keys wait if the address has sent many.
func (e *Edge) look(ctx context.Context, key string, find func(context.Context) error) error {
	if !e.Keys.Seen(key) {
		return e.Attempt(ctx, find)
	}
	err := find(ctx)
	if fault.CodeOf(err) == fault.NotFound {
		e.Keys.Forget(key)
	}
	return err
}

// principal returns the principal of a key. The first request for a user makes the user's workspace.
func (e *Edge) principal(ctx context.Context, key, person string) (access.Principal, error) {
	if !apikey.IsGateway(key) {
		return e.Keys.Principal(ctx, key)
	}
	person = norm.NFC.String(person)
	h, err := e.Keys.GatewayPrincipal(ctx, key, person)
	if err != nil || person == "" || h.Workspace.ID != 0 {
		return h, err
	}
	if len(person) > maxPerson || strings.ContainsFunc(person, unicode.IsControl) {
		return h, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid ID of a user: %.40q", person),
			fmt.Sprintf("use 1 to %d bytes without control characters", maxPerson))
	}
	e.Keys.ForgetPerson(key, person)
	h.Workspace, err = e.People.Join(ctx, h.Account, person)
	return h, err
}

// maxPerson is the limit of the ID of a user in bytes.
const maxPerson = 120

const (
	challenge    = "WWW-Authenticate"
	invalidToken = `Bearer realm="cairn", error="invalid_token"`
)

// bearerKey returns the key of a request, empty if it has none.
func bearerKey(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

func missingKey() *Problem {
	return NewProblem(fault.Unauthenticated, "missing API key", "").With(challenge, `Bearer realm="cairn"`)
}

// AdmitOperator is Admit for the keys of operators. Keys of workspaces are refused, also those with the scope admin.
// An empty key means the bearer token of the request.
func (e *Edge) AdmitOperator(r *http.Request, key string, scope access.Scope) (ctx context.Context, o access.Operator,
	err error) {
	if key = cmp.Or(key, bearerKey(r)); key == "" {
		return nil, o, missingKey()
	}
	err = e.look(r.Context(), key, func(ctx context.Context) (err error) {
		o, err = e.Keys.Operator(ctx, key)
		return err
	})
	command := "a key with `cairn keys create --operator --scopes " + string(scope) + " --name NAME`"
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return nil, o, NewProblem(fault.Unauthenticated, "invalid operator key", "keys of workspaces are refused "+
			"here; the operator of this installation creates "+command).With(challenge, invalidToken)
	case err != nil:
		return nil, o, fmt.Errorf("authenticate an operator: %w", err)
	case !o.Allows(scope):
		return nil, o, fault.New(fault.OutOfScope, fmt.Sprintf("operator scope %s required; the key has %s", scope,
			strings.Join(o.Scopes, ", ")), "create "+command)
	}
	return audit.WithKey(r.Context(), audit.Operator, o.Key), o, nil
}

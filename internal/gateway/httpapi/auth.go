package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// bearer is the name of the security scheme in the OpenAPI document.
const bearer = "key"

type holderKey struct{}

// asking returns the principal of the request. The workspace always comes from it.
func asking(ctx context.Context) access.Principal { return ctx.Value(holderKey{}).(access.Principal) }

// workspace returns the ID of the principal's workspace.
func workspace(ctx context.Context) int64 { return asking(ctx).Workspace.ID }

// admit passes a request on if its key is valid, has the scope and is within its rate
// limit. It runs before the body is read.
func (g *Gateway) admit(scope access.Scope, byBytes bool) func(huma.Context, func(huma.Context)) {
	limit := g.requestLimit
	if byBytes {
		limit = g.byteLimit
	}
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		h, refused := g.authorize(r, scope, limit)
		if refused != nil {
			refused.write(w)
			return
		}
		next(huma.WithContext(ctx, h.Acting(context.WithValue(ctx.Context(), holderKey{}, h))))
	}
}

// limiter returns a problem if a key has to wait.
type limiter func(r *http.Request, h access.Principal) *Problem

func (g *Gateway) authorize(r *http.Request, scope access.Scope, limit limiter) (access.Principal, *Problem) {
	h, refused := g.authorizeWithin(r, scope, limit)
	if refused == nil && h.Workspace.ID == 0 && scope != access.Gateway {
		return h, problem(fault.PersonRequired, "the key of a gateway acts for a user", "")
	}
	return h, refused
}

// authorizeAny is authorize for requests whose user may be named in the body.
func (g *Gateway) authorizeAny(r *http.Request, scope access.Scope) (access.Principal, *Problem) {
	return g.authorizeWithin(r, scope, g.requestLimit)
}

// requestLimit limits the requests of a key.
func (g *Gateway) requestLimit(_ *http.Request, h access.Principal) *Problem {
	return limited(g.rates.take(h, 1), fmt.Sprintf("%v requests", g.Options.RateLimit))
}

// byteLimit limits the bytes of a key's batches. A body of unknown length counts as the longest.
func (g *Gateway) byteLimit(r *http.Request, h access.Principal) *Problem {
	n := r.ContentLength
	if n < 0 {
		n = g.Options.RequestBytes
	}
	return limited(g.byteRates.take(h, int(n)), fmt.Sprintf("%d bytes", g.Options.BatchBytes))
}

func limited(wait time.Duration, what string) *Problem {
	if wait <= 0 {
		return nil
	}
	return problem(fault.RateLimited, fmt.Sprintf("rate limit exceeded: %s per second for this key", what), "").
		with("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}

func (g *Gateway) authorizeWithin(r *http.Request, scope access.Scope, limit limiter) (access.Principal, *Problem) {
	h, refused := g.authenticate(r)
	if refused == nil {
		refused = limit(r, h)
	}
	if refused != nil {
		return h, refused
	}
	if !scope.Allows(h.Scopes) {
		return h, outOfScope(scope, h)
	}
	return h, nil
}

func outOfScope(scope access.Scope, h access.Principal) *Problem {
	return problem(fault.OutOfScope, fmt.Sprintf("scope %s required; the key has %s", scope,
		strings.Join(h.Scopes, ", ")), "")
}

// authenticate returns the principal of the request's key. It does not distinguish an
// unknown key from a revoked or an expired one.
func (g *Gateway) authenticate(r *http.Request) (access.Principal, *Problem) {
	key := bearerKey(r)
	if key == "" {
		return access.Principal{}, missingKey()
	}
	return g.authenticateKey(r, key, personOf(r))
}

// authenticateKey returns the principal of a key, which acts for a user if it is that of a gateway.
func (g *Gateway) authenticateKey(r *http.Request, key, person string) (access.Principal, *Problem) {
	var h access.Principal
	err := g.look(r, key, func(ctx context.Context) (err error) {
		h, err = g.principal(ctx, key, person)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		return h, problem(
			fault.Unauthenticated,
			"invalid API key",
			"the key may be revoked or expired: list the keys of the workspace with `cairn keys list`, or "+
				"create one with `cairn keys create --name laptop`",
		).
			with(challenge, invalidToken)
	}
	if err != nil {
		return h, g.problemFrom(r.Context(), "authenticate", err)
	}
	return h, nil
}

// look looks a key up. A key that was valid before is looked up at once; other lookups are bounded, and the answers to
// invalid keys wait if the address has sent many.
func (g *Gateway) look(r *http.Request, key string, find func(context.Context) error) error {
	if !g.Keys.Seen(key) {
		return g.attempts.Look(r.Context(), network(g.address(r)), find)
	}
	err := find(r.Context())
	if fault.CodeOf(err) == fault.NotFound {
		g.Keys.Forget(key)
	}
	return err
}

// principal returns the principal of a key. That of a gateway acts for a user.
func (g *Gateway) principal(ctx context.Context, key, person string) (access.Principal, error) {
	if !apikey.IsGateway(key) {
		return g.Keys.Principal(ctx, key)
	}
	person = norm.NFC.String(person)
	h, err := g.Keys.GatewayPrincipal(ctx, key, person)
	if err != nil || person == "" || h.Workspace.ID != 0 {
		return h, err
	}
	if len(person) > mostPerson || strings.ContainsFunc(person, unicode.IsControl) {
		return h, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid ID of a user: %.40q", person),
			fmt.Sprintf("use 1 to %d bytes without control characters", mostPerson))
	}
	g.Keys.ForgetPerson(key, person)
	h.Workspace, err = g.People.Join(ctx, h.Account, person) // the first request of a user
	return h, err
}

// mostPerson is the limit of the ID of a user in bytes.
const mostPerson = 120

// personOf returns the user whom the headers of a request name.
func personOf(r *http.Request) string {
	return cmp.Or(r.Header.Get("X-Cairn-Person"), r.Header.Get("X-OpenWebUI-User-Id"))
}

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
	return problem(fault.Unauthenticated, "missing API key", "").with(challenge, `Bearer realm="cairn"`)
}

// authenticateOperator returns the operator whose key the request has, if it has the scope. Keys of
// workspaces are refused, also those with the scope admin.
func (g *Gateway) authenticateOperator(r *http.Request, scope access.Scope) (access.Operator, *Problem) {
	key := bearerKey(r)
	if key == "" {
		return access.Operator{}, missingKey()
	}
	return g.findOperator(r, key, scope)
}

func (g *Gateway) findOperator(r *http.Request, key string, scope access.Scope) (access.Operator, *Problem) {
	var o access.Operator
	err := g.look(r, key, func(ctx context.Context) (err error) {
		o, err = g.Keys.Operator(ctx, key)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound {
		return o, problem(fault.Unauthenticated, "invalid operator key", "keys of workspaces are refused here; the "+
			"operator of this installation creates a key with `cairn keys create --operator --scopes "+string(scope)+
			" --name NAME`").with(challenge, invalidToken)
	}
	if err != nil {
		return o, g.problemFrom(r.Context(), "authenticate an operator", err)
	}
	if !o.Allows(scope) {
		return o, problem(fault.OutOfScope, fmt.Sprintf("operator scope %s required; the key has %s", scope,
			strings.Join(o.Scopes, ", ")), "create a key with `cairn keys create --operator --scopes "+string(scope)+
			" --name NAME`")
	}
	return o, nil
}

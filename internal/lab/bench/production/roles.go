package production

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// inheriting is a login with the rights of the roles without acting as them.
const inheriting = "cairn_inherits"

// roles is step 2.
func (e *experiment) roles(ctx context.Context, to sheet) error {
	if err := e.primary.Execute(ctx, database, "drop role if exists "+inheriting, "create role "+inheriting+
		" login inherit in role cairn_app, cairn_system"); err != nil {
		return err
	}
	for _, program := range []struct {
		name, path string
		arguments  []string
	}{{"gateway", e.cairn, serve}, {"worker", e.worker, nil}} {
		p, err := e.launch(program.name+"-inherits", program.path, []string{
			"DATABASE_URL=" + e.pooler.URL(inheriting, database), "CAIRN_DATABASE_POOLER=transaction"},
			program.arguments...)
		if err != nil {
			return err
		}
		select {
		case <-p.Exited():
		case <-time.After(readyPatience):
			p.Kill()
		}
		code, log := p.ExitCode(), p.log.String()
		to.row(code == fault.Table[fault.Misconfigured].Exit && namesGrant(log, inheriting),
			"a "+program.name+" with an inheriting login does not start, and names the GRANT", "exit %d, named: %t",
			code, namesGrant(log, inheriting))
		to.found(unless(namesGrant(log, inheriting), log)...)
	}
	return e.dropRole(ctx, to)
}

// namesGrant reports whether a message has the statement that repairs a login.
func namesGrant(text, login string) bool {
	unquoted := strings.NewReplacer(`"`, "", `\`, "").Replace(text) // in JSON, quotes are escaped
	return strings.Contains(unquoted, "grant cairn_app, cairn_system to "+login)
}

// unless returns a finding, unless all is well.
func unless(well bool, text string) []string {
	if well {
		return nil
	}
	return []string{shortened(text)}
}

// shortened returns a text on one line of a table.
func shortened(text string) string {
	const most = 100
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// roleDropper returns a proxy to the pooler that loses the role of transactions while dropping is set.
func (e *experiment) roleDropper(dropping *atomic.Bool) (*testkit.Proxy, error) {
	proxy, err := testkit.OpenProxy("tcp", e.pooler.Address())
	if err != nil {
		return nil, err
	}
	proxy.Edit(func(sent []byte) []byte {
		if !dropping.Load() {
			return sent
		}
		for _, role := range []string{"cairn_app", "cairn_system"} {
			statement := "set local role " + role
			sent = bytes.ReplaceAll(sent, []byte(statement),
				fmt.Appendf(nil, "%-*s", len(statement), "set local role none"))
		}
		return sent
	})
	return proxy, nil
}

// dropRole puts a pooler that loses `set local role` before a running gateway. In the second attempt, its
// login has rights of its own, which were granted after its start.
func (e *experiment) dropRole(ctx context.Context, to sheet) error {
	var dropping atomic.Bool
	proxy, err := e.roleDropper(&dropping)
	if err != nil {
		return err
	}
	defer proxy.Close()
	tenants, err := e.tenants(ctx, 2, 2)
	if err != nil {
		return err
	}
	u, err := url.Parse(e.pooler.URL(login, database))
	if err != nil {
		return fmt.Errorf("address of the pooler: %w", err)
	}
	u.Host = proxy.Address()
	g, err := e.startGateway(ctx, "gateway-dropped", []string{"DATABASE_URL=" + u.String(),
		"CAIRN_DATABASE_POOLER=transaction", "CAIRN_LOG=warn"})
	if err != nil {
		return err
	}
	c := newClient(g.url)
	secret := object{"memory_type": "personal", "memory_target": "Ann", "content": "the secret of " + tenants[0].name}
	if err := c.expect(ctx, tenants[0], http.MethodPost, "/v1/memories", secret, http.StatusCreated, nil); err != nil {
		return err
	}
	// Since Postgres 16, a grant keeps the option that the role had.
	change := func(ctx context.Context, option string) error {
		return e.primary.Execute(
			ctx,
			database,
			"alter role "+login+" "+option,
			"revoke cairn_app, cairn_system from "+login,
			"grant cairn_app, cairn_system to "+login,
		)
	}
	defer func() { _ = change(context.WithoutCancel(ctx), "noinherit") }()
	for _, attempt := range []struct{ name, option string }{{"", "noinherit"},
		{" of a login that inherits", "inherit"}} {
		if err := change(ctx, attempt.option); err != nil {
			return err
		}
		dropping.Store(true)
		a, err := c.do(ctx, tenants[1], http.MethodGet, "/v1/memories?memory_types=personal", nil)
		dropping.Store(false)
		if err != nil {
			return err
		}
		log := g.log.String()
		to.row(a.status >= http.StatusInternalServerError && namesGrant(string(a.body)+log, login) &&
			!strings.Contains(string(a.body), "the secret"),
			"if the pooler drops the role"+attempt.name+", no row is read, and the message names the GRANT",
			"status %d, named: %t", a.status, namesGrant(string(a.body)+log, login))
		to.found(unless(namesGrant(string(a.body)+log, login), string(a.body))...)
		if err := c.expect(ctx, tenants[1], http.MethodGet, "/v1/memories?memory_types=personal", nil, http.StatusOK,
			nil); err != nil {
			return fmt.Errorf("after the pooler keeps the role again: %w", err)
		}
	}
	to.none(c.foreign, "0 foreign rows", "%d", len(c.foreign))
	return nil
}

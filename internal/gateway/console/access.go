package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
)

func (c *Console) accessRoutes() {
	c.handle("GET keys", access.Admin, c.listKeys)
	c.handle("POST keys", access.Admin, c.createKey)
	c.handle("POST keys/{key}/revoke", access.Admin, c.revokeKey)
	c.handle("POST sessions/{session}/end", access.Admin, c.endSession)
	c.handle("GET audit", access.Admin, c.listAudit)
	c.handle("GET audit/export", access.Admin, c.exportAudit)
}

func (c *Console) listKeys(rq *request) error { return c.showKeys(rq, "") }

// showKeys shows the keys and sessions, and a new key once.
func (c *Console) showKeys(rq *request, secret string) error {
	keys, err := c.Keys.List(rq.ctx, rq.ws())
	if err != nil {
		return err
	}
	t := table{ID: "keys", Title: "keys.title", Empty: "keys.empty", Columns: []string{"col.name", "keys.hint",
		"keys.scopes", "keys.used", "keys.expires", "skill.actions"}}
	for _, k := range keys {
		id := strconv.FormatInt(k.ID, 10)
		row := []cell{{Text: k.Name, Quiet: id}, {Text: k.Hint + "…"}, plain(strings.Join(k.Scopes, ", ")),
			rq.at(k.UsedAt), rq.at(k.ExpiresAt), {}}
		if k.RevokedAt != nil {
			row[5] = rq.tagged("keys", "revoked")
			row[5].Quiet = rq.moment(k.RevokedAt).Local
		} else {
			row[5].Actions = []action{{Path: rq.path("keys", id, "revoke"),
				Button: rq.button(access.Admin, "keys.revoke", "danger", k.Name)}}
		}
		t.Rows = append(t.Rows, row)
	}
	sessions, err := c.sessionTable(rq)
	if err != nil {
		return err
	}
	var scopes []option
	for _, s := range []string{"read", "write", "admin"} {
		scopes = append(scopes, option{s, s, s == "read"})
	}
	return rq.render("grid", "keys.title", grid{
		About:  "keys.about",
		Secret: secret,
		Tables: []table{t, sessions},
		Forms: []form{
			{
				ID:    "add",
				Title: "keys.add",
				Path:  rq.path("keys"),
				Button: rq.button(access.Admin, "keys.create",
					"primary", ""),
				Fields: []field{
					{Name: "name", Label: "col.name", Kind: "text", Required: true, Value: rq.typed("name", "")},
					{Name: "scope", Label: "keys.scopes", Kind: "checks", Options: scopes},
					{Name: "expires", Label: "keys.expires", Kind: "date", Value: rq.typed("expires", ""),
						Hint: "keys.never"},
				},
			},
		},
	})
}

func (c *Console) sessionTable(rq *request) (table, error) {
	t := table{ID: "sessions", Title: "keys.sessions", Empty: "keys.empty", Columns: []string{"col.name", "keys.scopes",
		"col.created", "keys.used", "keys.expires", "skill.actions"}}
	all, err := c.Sessions.List(rq.ctx, rq.ws())
	for _, s := range all {
		id := strconv.FormatInt(s.ID, 10)
		name := cell{Text: s.Name, Quiet: id}
		if s.ID == rq.grant.ID {
			name.Quiet = rq.c.pages[rq.lang].texts.Text("keys.this")
		}
		t.Rows = append(t.Rows, []cell{name, plain(strings.Join(s.Scopes, ", ")), rq.at(s.CreatedAt), rq.at(s.UsedAt),
			rq.at(s.EndsAt), {Actions: []action{{Path: rq.path("sessions", id, "end"),
				Button: rq.button(access.Admin, "keys.end", "danger", id)}}}})
	}
	return t, err
}

// holder returns the holder of the grant, who gives no scope that the session lacks.
func (c *Console) holder(rq *request) (access.Principal, error) {
	h := access.Principal{Workspace: rq.grant.Workspace, Key: rq.grant.Key, Scopes: rq.grant.Scopes}
	if h.Key == 0 {
		return h, nil
	}
	keys, err := c.Keys.List(rq.ctx, rq.ws())
	for _, k := range keys {
		if k.ID == h.Key && k.ExpiresAt != nil {
			h.ExpiresAt = *k.ExpiresAt
		}
	}
	return h, err
}

func (c *Console) createKey(rq *request) error {
	var scopes []access.Scope
	name := rq.r.PostFormValue("name")
	for _, s := range rq.r.PostForm["scope"] {
		scopes = append(scopes, access.Scope(s))
	}
	var expires *time.Time
	if text := rq.r.PostFormValue("expires"); text != "" {
		day, err := time.ParseInLocation(time.DateOnly, text, rq.zone)
		if err != nil {
			return rq.again(badParameter("expires", text, "use a date such as 2027-01-31"), c.listKeys)
		}
		expires = &day
	}
	h, err := c.holder(rq)
	if err != nil {
		return err
	}
	key, _, err := c.Keys.CreateWithin(rq.ctx, h, name, scopes, expires)
	if err != nil {
		return rq.again(err, c.listKeys)
	}
	return c.showKeys(rq, key)
}

func (c *Console) revokeKey(rq *request) error {
	id, err := strconv.ParseInt(rq.named("key"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound, fmt.Sprintf("key %.40q not found", rq.named("key")), "list the keys again")
	}
	if err := c.Keys.Revoke(rq.ctx, rq.ws(), id); err != nil {
		return rq.again(err, c.listKeys)
	}
	return rq.redirect("revoked", "keys")
}

func (c *Console) endSession(rq *request) error {
	id, err := strconv.ParseInt(rq.named("session"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound, fmt.Sprintf("session %.40q not found", rq.named("session")),
			"list the sessions again")
	}
	if err := c.Sessions.End(rq.ctx, rq.ws(), id); err != nil {
		return rq.again(err, c.listKeys)
	}
	return rq.redirect("ended", "keys")
}

// auditFilter reads the filters of the audit log.
func (rq *request) auditFilter() (f audit.Filter, err error) {
	if f, err = audit.NewFilter(rq.text("action"), rq.text("since"), rq.text("until")); err != nil {
		return f, err
	}
	if text := rq.text("cursor"); text != "" {
		if f.Cursor, err = strconv.ParseInt(text, 10, 64); err != nil || f.Cursor < 1 {
			return f, badParameter("cursor", text, "open the page without a cursor")
		}
	}
	return f, nil
}

func (c *Console) listAudit(rq *request) error {
	f, err := rq.auditFilter()
	if err != nil {
		return err
	}
	limit, err := rq.limit()
	if err != nil {
		return err
	}
	events, err := c.Audit.List(rq.ctx, rq.ws(), f, limit+1)
	if err != nil {
		return err
	}
	t := table{ID: "events", Title: "audit.title", Empty: "audit.empty",
		Columns: []string{"audit.at", "audit.actor", "audit.action", "audit.object", "audit.address"}}
	if len(events) > limit {
		events = events[:limit]
		t.Next = strconv.FormatInt(events[limit-1].ID, 10)
	}
	for _, e := range events {
		who := cell{Text: rq.worded("actor", e.Actor.Kind), Quiet: e.Actor.Name}
		if e.Actor.KeyID != 0 {
			who.Quiet = fmt.Sprintf("%s (%d)", e.Actor.Name, e.Actor.KeyID)
		}
		t.Rows = append(t.Rows, []cell{rq.at(e.At), who, plain(e.Action), plain(e.Object),
			{Text: e.Address, Quiet: e.Request}})
	}
	var actions []string
	for _, a := range audit.Actions {
		actions = append(actions, string(a))
	}
	filter := rq.filter("action", "audit.action", "-", actions)
	filter.Fields = append(filter.Fields,
		field{Name: "since", Label: "audit.since", Kind: "date", Value: rq.text("since")},
		field{Name: "until", Label: "audit.until", Kind: "date", Value: rq.text("until")})
	export := rq.path("audit", "export")
	if rq.r.URL.RawQuery != "" {
		export += "?" + rq.r.URL.Query().Encode()
	}
	return rq.render("grid", "audit.title", grid{About: "audit.about", Tables: []table{t}, Forms: []form{filter},
		Links: []link{{export, "audit.export"}}})
}

// exportAudit sends the events as JSON lines.
func (c *Console) exportAudit(rq *request) error {
	f, err := rq.auditFilter()
	if err != nil {
		return err
	}
	f.Cursor = 0
	rq.w.Header().Set("Content-Type", "application/x-ndjson")
	rq.w.Header().Set("Content-Disposition", `attachment; filename="audit.ndjson"`)
	lines := json.NewEncoder(rq.w)
	if err := c.Audit.Export(rq.ctx, rq.ws(), f, func(e audit.Event) error { return lines.Encode(e) }); err != nil {
		c.Log.Error("export failed", "error", err)
		panic(http.ErrAbortHandler) // the response has begun: the browser must notice that it is incomplete
	}
	return nil
}

package console

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
)

// view is what the templates of a page know.
type view struct {
	rq    *request
	Title string // of the page
	Lang  string
	Nonce string
	Page  string // name of the template
	Data  any
	Error *fault.Error
}

func (rq *request) view(page, title string, data any) *view {
	nonce, _ := rq.r.Context().Value(nonceKey{}).(string)
	return &view{rq: rq, Title: rq.c.pages[rq.lang].texts.Text(title), Lang: string(rq.lang), Nonce: nonce, Page: page,
		Data: data, Error: rq.failed}
}

// Root returns a path of the console outside of workspaces.
func (v *view) Root(path string) string { return v.rq.c.base + Root + path }

// Static returns the path of a static file, which changes with the file.
func (v *view) Static(file string) string {
	return v.Root("static/" + file + "?v=" + staticVersion(file))
}

// Path returns the path of a page of the workspace.
func (v *view) Path(parts ...any) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = fmt.Sprint(p)
	}
	return v.rq.path(texts...)
}

// With returns the address of this page with changed query parameters: names and values in turn. An empty value
// removes a parameter.
func (v *view) With(pairs ...any) string {
	q := v.rq.r.URL.Query()
	q.Del("done")
	for i := 0; i+1 < len(pairs); i += 2 {
		name, value := fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])
		if value == "" {
			q.Del(name)
		} else {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return v.Here()
	}
	return v.Here() + "?" + q.Encode()
}

// Here returns the path of this page.
func (v *view) Here() string { return v.rq.c.base + v.rq.r.URL.EscapedPath() }

// Signed reports whether the page belongs to a workspace.
func (v *view) Signed() bool { return v.rq.grant.ID != 0 }

// Operator reports whether the page is one of the operators'.
func (v *view) Operator() bool { return v.rq.isOperator }

// Workspace returns the name of the workspace.
func (v *view) Workspace() string { return v.rq.grant.Workspace.Name }

// Model returns the name of the model.
func (v *view) Model() string { return v.rq.c.Options.Model }

// Zone returns the name of the time zone of the workspace.
func (v *view) Zone() string { return v.rq.zone.String() }

// Workspaces returns the workspaces of the session.
func (v *view) Workspaces() []access.Grant { return v.rq.grants }

// WorkspacePath returns the overview of a workspace.
func (v *view) WorkspacePath(name string) string { return v.rq.c.workspacePath(name) }

// Can reports whether the session has a scope.
func (v *view) Can(scope string) bool { return v.rq.grant.Allows(access.Scope(scope)) }

// Scopes returns the scopes of the session.
func (v *view) Scopes() string { return strings.Join(v.rq.grant.Scopes, ", ") }

// Query returns a query parameter.
func (v *view) Query(name string) string { return v.rq.text(name) }

// Typed returns what was typed into a field of a form that failed, and otherwise the stored value.
func (v *view) Typed(field string, stored ...any) string {
	if v.rq.failed != nil && v.rq.r.PostForm.Has(field) {
		return v.rq.r.PostForm.Get(field)
	}
	if len(stored) == 0 {
		return ""
	}
	return fmt.Sprint(stored[0])
}

// Op returns an operation ID for a form, so that a form that is sent twice applies once.
func (v *view) Op() string {
	if v.rq.failed != nil {
		if op := v.rq.r.PostForm.Get("op"); op != "" && len(op) <= 100 {
			return op
		}
	}
	return newOp()
}

// Request returns the ID of the request, for the log of the server.
func (v *view) Request() string { return audit.From(v.rq.ctx).Request }

// Workflow returns the page of a workflow in Temporal UI.
func (v *view) Workflow(id string) string {
	if id == "" {
		return ""
	}
	return v.rq.c.Options.WorkflowLink(id)
}

// Notice returns the key of the notice of a finished action.
func (v *view) Notice() string {
	done := v.rq.r.URL.Query().Get("done")
	if slices.Contains(notices, done) {
		return "done." + done
	}
	return ""
}

// notices are the values of the parameter done.
var notices = []string{"approved", "rejected", "saved", "deleted", "restored", "undone", "rolled_back", "pinned",
	"unpinned", "archived", "ended", "canceled", "retried", "started", "paused", "resumed", "removed", "revoked",
	"adopted", "released", "unchanged", "feedback", "created", "promoted", "frozen", "unfrozen", "decided", "erasing",
	"uploaded", "loaded", "skipped"}

// moment is a time as a page shows it.
type moment struct{ UTC, Local string }

// Time returns a time in the zone of the workspace, and nothing for the zero time.
func (v *view) Time(at any) moment { return v.rq.moment(at) }

// button is an action of a form. Without the scope, it is disabled and says why.
type button struct {
	Label  string // key
	Kind   string // primary, danger or empty
	Needs  string // the missing scope, empty if the action is allowed
	Name   string // of the form field that names the button, may be empty
	Value  string
	Detail string // hidden text after the label, which distinguishes the buttons of a list
}

// Button returns an action that needs a scope.
func (v *view) Button(scope, label, kind string, detail ...string) button {
	b := button{Label: label, Kind: kind, Detail: strings.Join(detail, " ")}
	if !v.Can(scope) {
		b.Needs = scope
	}
	return b
}

// Choose returns one of several actions of a form: the field that names it, and its value.
func (v *view) Choose(scope, label, kind, name, value string) button {
	b := v.Button(scope, label, kind)
	b.Name, b.Value = name, value
	return b
}

// choices are a filter of a list: a field with all its values.
type choices struct {
	Name, Label, All string
	Options          []option
}

type option struct {
	Value, Text string
	Selected    bool
}

// Choices returns a filter whose values have the texts with a prefix.
func (v *view) Choices(name, label, prefix string, values []string) choices {
	out := choices{Name: name, Label: label, All: "list.all"}
	for _, value := range values {
		out.Options = append(out.Options, option{value, v.rq.c.pages[v.rq.lang].texts.Or(prefix, value),
			value == v.Query(name)})
	}
	return out
}

// navItem is a link of the navigation.
type navItem struct {
	Path, Label string
	Key         string // of its shortcut, after g
	Current     bool
}

// Nav returns the navigation.
func (v *view) Nav() []navItem {
	here := strings.TrimPrefix(v.Here(), v.rq.path())
	var out []navItem
	for _, name := range navigation {
		current := here == name || name != "" && strings.HasPrefix(here, name+"/")
		label := name
		if name == "" {
			label = "overview"
		}
		path := v.rq.path()
		if name != "" {
			path = v.rq.path(name)
		}
		out = append(out, navItem{path, "nav." + label, shortcuts[label], current})
	}
	return out
}

// shortcuts are the keys that open pages, after g.
var shortcuts = map[string]string{"overview": "o", "inbox": "i", "skills": "s", "conversations": "c", "memories": "m",
	"runs": "r", "try": "t", "usage": "u"}

// navigation are the paths of the main pages.
var navigation = []string{"", "inbox", "skills", "conversations", "memories", "runs", "try", "schedules",
	"reflections", "learning", "channels", "usage", "settings", "keys", "audit", "outbox"}

package console

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
)

// request is a request for a page, and the response to it.
type request struct {
	c      *Console
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // of the holder of the grant
	lang   languageTag
	grants []access.Grant
	grant  access.Grant   // of the workspace in the path
	zone   *time.Location // of the workspace
	status int            // of the response; 0 means 200
	failed *fault.Error   // of the action whose form is shown again

	isOperator bool // the page is one of the operators'
}

func (c *Console) newRequest(w http.ResponseWriter, r *http.Request) *request {
	return &request{c: c, w: w, r: r, ctx: r.Context(), lang: matchLanguage(r.Header.Get("Accept-Language")),
		zone: time.UTC}
}

// identify reads the grants of the cookie.
func (rq *request) identify() error {
	cookie := rq.cookie()
	if cookie == "" {
		return nil
	}
	_, err := rq.known(func(ctx context.Context) (err error) {
		if rq.grants, err = rq.c.Sessions.Grants(ctx, cookie); err == nil && len(rq.grants) == 0 {
			err = fault.New(fault.NotFound, "unknown cookie", "sign in")
		}
		return err
	})
	return err
}

// known reports whether look finds what a cookie grants. One that is unknown or has ended needs a sign-in.
func (rq *request) known(look func(context.Context) error) (bool, error) {
	err := rq.c.Edge.Attempt(rq.ctx, look)
	if code := fault.CodeOf(err); code == fault.NotFound || code == fault.RateLimited {
		return false, nil
	}
	return err == nil, err
}

// enter enters the workspace of the path. One without a grant is not found, whether it exists or not.
func (rq *request) enter() error {
	name := unsegment(rq.r.PathValue("workspace"))
	for _, g := range rq.grants {
		if g.Workspace.Name == name {
			rq.grant = g
			rq.ctx = g.Acting(rq.ctx)
			if err := rq.c.Sessions.Use(rq.ctx, g); err != nil {
				return err
			}
			return rq.findZone()
		}
	}
	return fault.New(fault.NotFound, "there is no such workspace, or you are not signed in to it",
		"sign in with a key of the workspace")
}

func (rq *request) findZone() error {
	all, err := rq.c.Workspaces.Settings(rq.ctx, rq.ws())
	if err != nil {
		return err
	}
	if zone, err := time.LoadLocation(all.TimeZone); err == nil {
		rq.zone = zone
	}
	return nil
}

// ws returns the ID of the workspace.
func (rq *request) ws() int64 { return rq.grant.Workspace.ID }

// actor returns the holder of the grant as the user who makes a change. The form's operation ID makes a form that is
// sent twice apply once.
func (rq *request) actor() agent.Actor {
	op := rq.r.PostFormValue("op")
	if op == "" || len(op) > 100 {
		op = rand.Text()
	}
	return agent.Actor{Workspace: rq.ws(), Origin: agent.OriginUser, Approves: rq.grant.Allows(access.Admin),
		Op: "console/" + strconv.FormatInt(rq.grant.ID, 10) + "/" + op}
}

// text returns a query parameter without spaces around it.
func (rq *request) text(name string) string { return strings.TrimSpace(rq.r.URL.Query().Get(name)) }

// number returns a query parameter between low and high, and otherwise the default.
func (rq *request) number(name string, otherwise, low, high int) (int, error) {
	text := rq.text(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, badParameter(name, text, "use a number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
	}
	return n, nil
}

// limit returns the number of rows of a list.
func (rq *request) limit() (int, error) { return rq.number("limit", perPage, 1, maxPerPage) }

// choice returns a query parameter that is empty or one of the given values.
func (rq *request) choice(name string, allowed ...string) (string, error) {
	text := rq.text(name)
	if text == "" {
		return "", nil
	}
	for _, a := range allowed {
		if a == text {
			return text, nil
		}
	}
	return "", badParameter(name, text, "use one of "+strings.Join(allowed, ", "))
}

func badParameter(name, value, hint string) error {
	return fault.New(fault.InvalidArgument, "invalid "+name+" "+strconv.Quote(clipText(value, 60)), hint)
}

// render writes a page with data. Title is a key of the locale, unless it is the name of an object.
func (rq *request) render(page, title string, data any) error {
	var out bytes.Buffer
	v := rq.view(page, title, data)
	if err := rq.c.pages[rq.lang].execute(&out, page, v); err != nil {
		return err
	}
	rq.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if rq.status != 0 {
		rq.w.WriteHeader(rq.status)
	}
	_, _ = rq.w.Write(out.Bytes()) // a write error means that the browser has gone
	return nil
}

// redirect sends the browser to a path below the workspace. Notice is the key of a notice on that page.
func (rq *request) redirect(notice string, path ...string) error {
	to := rq.path(path...)
	if notice != "" {
		to += "?done=" + url.QueryEscape(notice)
	}
	http.Redirect(rq.w, rq.r, to, http.StatusSeeOther)
	return nil
}

// again shows the page of a form whose action failed, with what was typed.
func (rq *request) again(err error, page func(*request) error) error {
	f := presentable(err)
	rq.failed, rq.status = f, fault.Table[f.Code].HTTP
	if err := page(rq); err != nil {
		return f // the page itself is gone, such as after a decision of someone else
	}
	rq.log(f, err)
	return nil
}

// fail writes the page of an error.
func (rq *request) fail(err error) {
	f := presentable(err)
	rq.log(f, err)
	rq.failed, rq.status = f, fault.Table[f.Code].HTTP
	if err := rq.render("error", "error.title", nil); err != nil {
		rq.c.Log.Error("page failed", "page", "error", "error", err)
		http.Error(rq.w, "unexpected failure", http.StatusInternalServerError)
	}
}

func (rq *request) log(f *fault.Error, err error) {
	if fault.Table[f.Code].HTTP >= http.StatusInternalServerError && rq.r.Context().Err() == nil {
		rq.c.Log.Error("page failed", "path", rq.r.URL.Path, "request", audit.From(rq.ctx).Request, "error", err)
	}
}

// presentable returns what a browser may see of an error.
func presentable(err error) *fault.Error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fault.New(fault.TooLarge, "the form is too large", "send less text")
	}
	p := edge.ProblemOf(err)
	if p.GetStatus() >= http.StatusInternalServerError && p.Code != fault.Unavailable {
		return fault.New(p.Code, "unexpected failure", p.Hint)
	}
	out := fault.New(p.Code, p.Message, p.Hint)
	out.Extra = p.Extra
	return out
}

// path returns a path below the workspace.
func (rq *request) path(parts ...string) string {
	return rq.c.workspacePath(rq.grant.Workspace.Name, parts...)
}

// workspacePath returns the path of a page of a workspace.
func (c *Console) workspacePath(workspace string, parts ...string) string {
	return c.base + PagePath(workspace, parts...)
}

// PagePath returns the path of a page of a workspace, without the path of the public address.
func PagePath(workspace string, parts ...string) string {
	out := Root + "w/" + segment(workspace) + "/"
	for i, p := range parts {
		if i > 0 {
			out += "/"
		}
		out += segment(p)
	}
	return out
}

// segment encodes a name as one segment of a path. Browsers would remove . and .. from a path.
func segment(name string) string {
	if name == "." || name == ".." || strings.HasPrefix(name, "~") {
		name = "~" + name
	}
	return url.PathEscape(name)
}

func unsegment(name string) string { return strings.TrimPrefix(name, "~") }

// named returns a name in the path.
func (rq *request) named(wildcard string) string { return unsegment(rq.r.PathValue(wildcard)) }

// maxForm is the size of a form without files, in bytes.
const maxForm = 10 << 20

// readForm reads a form without files. PostFormValue would take one that is cut or damaged for an empty one.
func (rq *request) readForm() error {
	if rq.r.Method == http.MethodGet || rq.r.Method == http.MethodHead ||
		strings.HasPrefix(rq.r.Header.Get("Content-Type"), "multipart/") {
		return nil
	}
	rq.r.Body = http.MaxBytesReader(rq.w, rq.r.Body, maxForm)
	err := rq.r.ParseForm()
	var known *fault.Error
	var tooLarge *http.MaxBytesError
	if err == nil || errors.As(err, &known) || errors.As(err, &tooLarge) {
		return err
	}
	return fault.Wrap(err, fault.InvalidArgument, "damaged form", "reload the page, and send the form again")
}

// formMemory is the part of a form with a file that is held in memory; the rest is in a temporary file.
const formMemory = 8 << 20

// file returns the content of a file in a form.
func (rq *request) file(name string) ([]byte, error) {
	if err := rq.r.ParseMultipartForm(formMemory); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, err
		}
		return nil, fault.New(fault.InvalidArgument, "missing file", "choose a file")
	}
	defer rq.r.MultipartForm.RemoveAll() //nolint:errcheck // temporary files
	f, _, err := rq.r.FormFile(name)
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, "missing file", "choose a file")
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	if err == nil && len(content) == 0 {
		err = fault.New(fault.InvalidArgument, "the file is empty", "choose another file")
	}
	return content, err
}

package console

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/apikey"
	"cairn/internal/service/channel"
	"cairn/internal/service/conversation"
	"cairn/internal/service/distill"
	"cairn/internal/service/dump"
	"cairn/internal/service/erase"
	"cairn/internal/service/feedback"
	"cairn/internal/service/health"
	"cairn/internal/service/inbox"
	"cairn/internal/service/inspect"
	"cairn/internal/service/learning"
	"cairn/internal/service/library"
	"cairn/internal/service/memory"
	"cairn/internal/service/reflection"
	"cairn/internal/service/replystream"
	"cairn/internal/service/schedule"
	"cairn/internal/service/search"
)

// Root is the path of the console.
const Root = "/console/"

// Services holds the services behind the pages.
type Services struct {
	Log           *slog.Logger
	Sessions      *apikey.ConsoleSessions
	Keys          *apikey.Service
	Audit         *inspect.AuditService
	Runs          *inspect.Runs
	Conversations *inspect.Conversations
	Workspaces    *inspect.Workspaces
	Inbox         *inbox.Service
	Library       *library.Library
	Memory        *memory.PromptService
	LongTerm      *memory.LongTermService
	Finder        search.Finder
	Explore       *inspect.Service
	Health        *health.Service
	Support       *apikey.Support
	Distill       *distill.Service
	Turns         *conversation.Service
	Replies       *replystream.Reader
	Feedback      *feedback.Service
	Schedules     *schedule.Service
	Reflect       *reflection.Service
	Learning      *learning.Service
	Channels      *channel.Service
	Dumps         *dump.Service
	Erase         *erase.Service

	Edge *edge.Edge

	// Start starts the workflow of a stored run.
	Start func(ctx context.Context, workspaceKey string, r run.Run)
	// StartErase starts the workflow of an accepted erasure.
	StartErase func(ctx context.Context, e erasure.Erasure)
	// Send accepts a message and does not wait for the reply.
	Send func(ctx context.Context, ws access.Workspace, conversation, message, text string) error
	// ReplyNews returns a channel that receives when a run has new text of its reply.
	ReplyNews func(ref run.Ref) (news <-chan struct{}, stop func())
}

// Options is the configuration of the console.
type Options struct {
	PublicBaseURL string // base of links; its path is in all links
	// WorkflowLink returns a workflow's page in Temporal UI, empty if there is none.
	WorkflowLink func(workflowID string) string
	Model        string // name of the model, for display
	NameStyle    string // of exported skills: hyphen or underscore
	// DistillSpec returns the configuration of a new distillation, for a retry that pays again.
	DistillSpec func() distill.Spec
}

// Console is an http.Handler of the pages. It is safe for concurrent use.
type Console struct {
	Services
	Options Options

	base    string // path of PublicBaseURL, without a slash at the end
	streams *edge.Streams
	mux     routes
	cross   *http.CrossOriginProtection
	pages   map[languageTag]*pages
}

// New returns the pages over s. It panics if a template is broken, which the tests find.
func New(s Services, o Options) *Console {
	c := &Console{Services: s, Options: o, cross: http.NewCrossOriginProtection(), pages: map[languageTag]*pages{},
		streams: s.Edge.NewStreams(streamLimits)}
	if u, err := url.Parse(o.PublicBaseURL); err == nil {
		c.base = strings.TrimRight(u.EscapedPath(), "/")
	}
	if c.Options.WorkflowLink == nil {
		c.Options.WorkflowLink = func(string) string { return "" }
	}
	for _, tag := range languageTags {
		c.pages[tag] = parse(tag)
	}
	c.mux.HandleFunc("GET "+Root+"static/{file}", c.static)
	c.signInRoutes()
	c.overviewRoutes()
	c.inboxRoutes()
	c.skillRoutes()
	c.conversationRoutes()
	c.memoryRoutes()
	c.runRoutes()
	c.tryRoutes()
	c.ratingRoutes()
	c.scheduleRoutes()
	c.reflectionRoutes()
	c.outboxRoutes()
	c.channelRoutes()
	c.learningRoutes()
	c.learningListRoutes()
	c.accessRoutes()
	c.usageRoutes()
	c.settingsRoutes()
	c.operatorRoutes()
	c.mux.HandleFunc(Root, c.open(func(*request) error {
		return fault.New(fault.NotFound, "there is no such page", "choose a page in the navigation")
	}))
	return c
}

// routes is a ServeMux that knows its patterns.
type routes struct {
	http.ServeMux
	patterns []string
}

// HandleFunc registers a handler for a pattern.
func (m *routes) HandleFunc(pattern string, handler http.HandlerFunc) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.HandleFunc(pattern, handler)
}

// Routes returns the patterns of all pages, files and actions.
func (c *Console) Routes() (out []string) {
	for _, p := range c.mux.patterns {
		if p != Root { // it answers what there is not
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// ServeHTTP serves one request with the security headers of every response.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	nonce := rand.Text()
	secure(w.Header(), nonce)
	r = r.WithContext(context.WithValue(r.Context(), nonceKey{}, nonce))
	if err := c.checkOrigin(r); err != nil {
		rq := c.newRequest(w, r)
		rq.fail(err)
		return
	}
	c.mux.ServeHTTP(w, r)
}

type nonceKey struct{}

// secure sets the headers that confine a page: its script has the nonce, and everything else comes from Cairn.
func secure(h http.Header, nonce string) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'nonce-"+nonce+"'; style-src 'self'; "+
		"img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; "+
		"require-trusted-types-for 'script'; trusted-types 'none'")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Language, Cookie")
}

// checkOrigin refuses changes that a page of another site asks for. Browsers send Sec-Fetch-Site or Origin; a
// request with neither comes from a program, which uses the API.
func (c *Console) checkOrigin(r *http.Request) error {
	const hint = "open the console in a browser, and send the form from there"
	if err := c.cross.Check(r); err != nil {
		return fault.New(fault.OutOfScope, "the request comes from another site", hint)
	}
	safe := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodOptions}, r.Method)
	if !safe && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		return fault.New(fault.OutOfScope, "the request does not state its origin", hint)
	}
	return nil
}

// open returns a handler for everyone.
func (c *Console) open(fn func(*request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rq := c.newRequest(w, r)
		err := rq.readForm()
		if err == nil {
			err = rq.identify()
		}
		if err == nil {
			err = fn(rq)
		}
		if err != nil {
			rq.fail(err)
		}
	}
}

// handle registers a page or an action of a workspace, which needs a scope. The pattern is a method and the path
// below the workspace.
func (c *Console) handle(pattern string, scope access.Scope, fn func(*request) error) {
	method, path, _ := strings.Cut(pattern, " ")
	c.mux.HandleFunc(method+" "+Root+"w/{workspace}/"+path, c.open(func(rq *request) error {
		if len(rq.grants) == 0 {
			return rq.needSignIn()
		}
		if err := rq.enter(); err != nil {
			return err
		}
		if !rq.grant.Allows(scope) {
			return fault.New(fault.OutOfScope, fmt.Sprintf("scope %s required; this session has %s", scope,
				strings.Join(rq.grant.Scopes, ", ")), "sign in with a key that has the scope")
		}
		return fn(rq)
	}))
}

package channeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"time"
)

// Served is a fake for programs that are not written in Go.
type Served struct {
	Platform
	URL     string       // of the fake
	Handler http.Handler // of requests to the platform; nil means that they go to URL
	Actions Actions      // in addition to those of all fakes
}

// Actions are what POST /control/NAME does, by name. The results are encoded as JSON.
type Actions map[string]func(Body) any

// Body is the JSON body of a request to /control/NAME. Each action reads some of its members.
type Body struct {
	UserMessage
	ID      string // of a message
	Data    string // of a button
	URL     string
	Fault   FaultKind
	Seconds int // of Fault
}

// Serve serves a fake until in ends, and prints FAKE_URL=, which is the base URL of the platform and of /control.
func Serve(s Served, in io.Reader, out io.Writer) error {
	if s.Handler == nil {
		target, err := url.Parse(s.URL)
		if err != nil {
			return err
		}
		proxy := httputil.NewSingleHostReverseProxy(target)
		proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // the fake has broken the connection
		}
		s.Handler = proxy
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler)
	actions := common(s.Platform)
	maps.Copy(actions, s.Actions)
	for name, run := range actions {
		mux.HandleFunc("POST /control/"+name, func(w http.ResponseWriter, r *http.Request) {
			var b Body
			if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(run(b)) // a write error: the program has left
		})
	}
	server := httptest.NewServer(mux)
	defer server.Close()
	if _, err := fmt.Fprintln(out, "FAKE_URL="+server.URL); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// common returns the actions of all fakes. Open is the number of events that are not acknowledged, if the fake counts
// them.
func common(p Platform) Actions {
	return Actions{
		"say":    func(b Body) any { return p.Say(b.UserMessage) },
		"press":  func(b Body) any { return done(func() { p.Press(b.User, b.Chat, b.Data) }) },
		"edit":   func(b Body) any { return p.Edit(b.Chat, b.ID, b.Text) },
		"delete": func(b Body) any { return p.Delete(b.Chat, b.ID) },
		"drop":   func(Body) any { return done(p.Drop) },
		"repeat": func(Body) any { return done(p.Repeat) },
		"fail": func(b Body) any {
			return done(func() { p.Fail(Fault{Kind: b.Fault, RetryAfter: time.Duration(b.Seconds) * time.Second}) })
		},
		"sent": func(Body) any { return p.Sent() },
		"open": func(Body) any {
			if c, ok := p.(interface{ Open() int }); ok {
				return c.Open()
			}
			return nil
		},
	}
}

func done(act func()) any {
	act()
	return nil
}

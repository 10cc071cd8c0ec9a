package channeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
)

// Serve serves a fake to programs that are not written in Go until in ends, and prints FAKE_URL=, which is the base
// URL of the platform. POST /control/NAME calls a method of the fake: say with Said, press and delete with Action, drop
// and repeat without a body. GET /control/sent returns the messages of the bot, and GET /control/open the number of
// events that are not acknowledged, if the fake counts them.
func Serve(p Platform, address string, in io.Reader, out io.Writer) error {
	target, err := url.Parse(address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(target))
	mux.HandleFunc("POST /control/say", func(w http.ResponseWriter, r *http.Request) {
		var said Said
		if decode(w, r, &said) {
			reply(w, map[string]string{"id": p.Say(said)})
		}
	})
	mux.HandleFunc("POST /control/press", func(w http.ResponseWriter, r *http.Request) {
		var a Action
		if decode(w, r, &a) {
			p.Press(a.User, a.Chat, a.Data)
			reply(w, nil)
		}
	})
	mux.HandleFunc("POST /control/delete", func(w http.ResponseWriter, r *http.Request) {
		var a Action
		if decode(w, r, &a) {
			reply(w, map[string]bool{"told": p.Delete(a.Chat, a.Message)})
		}
	})
	mux.HandleFunc("POST /control/drop", func(w http.ResponseWriter, _ *http.Request) {
		p.Drop()
		reply(w, nil)
	})
	mux.HandleFunc("POST /control/repeat", func(w http.ResponseWriter, _ *http.Request) {
		p.Repeat()
		reply(w, nil)
	})
	mux.HandleFunc("GET /control/sent", func(w http.ResponseWriter, _ *http.Request) { reply(w, p.Sent()) })
	mux.HandleFunc("GET /control/open", func(w http.ResponseWriter, _ *http.Request) {
		open := 0
		if c, ok := p.(interface{ Open() int }); ok {
			open = c.Open()
		}
		reply(w, open)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	if _, err := fmt.Fprintln(out, "FAKE_URL="+server.URL); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// Action is what a user does with a message.
type Action struct{ User, Chat, Data, Message string }

func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// Command discord runs the server of the tests for Discord, so that check.py can try Discord's clients with it. The
// paths below /control act for the users.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	"cairn/internal/adapter/channel/channeltest"
	"cairn/internal/adapter/channel/discord/discordtest"
)

// action is the body of a request to /control.
type action struct {
	channeltest.Said
	MessageID string
	Data      string
	Seconds   int
}

func main() {
	address := flag.String("address", "127.0.0.1:8093", "address to listen at")
	flag.Parse()
	s, err := discordtest.Open(discordtest.Options{Interval: 2 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", s.Config.Handler)
	for name, run := range map[string]func(action) any{
		"say":    func(a action) any { return s.Say(a.Said) },
		"attach": func(a action) any { return s.Attach(a.User, a.Name, "text/plain", []byte(a.Text)) },
		"press": func(a action) any {
			s.Press(a.User, a.Chat, a.Data)
			return nil
		},
		"edit":   func(a action) any { return s.Edit(a.Chat, a.MessageID, a.Text) },
		"delete": func(a action) any { return s.Delete(a.Chat, a.MessageID) },
		"drop": func(action) any {
			s.Drop()
			return nil
		},
		"forget": func(action) any {
			s.Forget()
			return nil
		},
		"busy": func(a action) any {
			s.Fail(channeltest.Fault{Kind: channeltest.Busy, RetryAfter: time.Duration(a.Seconds) * time.Second})
			return nil
		},
		"sent":   func(action) any { return s.Sent() },
		"counts": func(action) any { return s.Counts() },
	} {
		mux.HandleFunc("POST /control/"+name, func(w http.ResponseWriter, r *http.Request) {
			var a action
			if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			_ = json.NewEncoder(w).Encode(run(a)) // a write error: the script has left
		})
	}
	fmt.Printf("FAKE_URL=http://%s\n", *address)
	log.Fatal((&http.Server{Addr: *address, Handler: mux, ReadHeaderTimeout: time.Minute}).ListenAndServe())
}

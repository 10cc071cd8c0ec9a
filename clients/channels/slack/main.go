// Command slack starts fakes of Slack for check.py, which uses Slack's own SDK with them. It prints their URL and runs
// until it is interrupted.
//
// The fake at /socket/ has an app with Socket Mode, the one at /hook/ an app with the Events API over HTTP. Both have
// their methods below api/, and what users do below control/.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"cairn/internal/adapter/channel/channeltest"
	"cairn/internal/adapter/channel/slack/slacktest"
)

// act is the body of requests below control/. Each action reads its members.
type act struct {
	channeltest.Said
	ID      string
	Data    string
	URL     string
	Content string
	Fault   channeltest.FaultKind
	Seconds int
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	socket, hook := slacktest.Start(slacktest.Options{}), slacktest.StartHTTP(slacktest.Options{})
	defer socket.Close()
	defer hook.Close()
	mux := http.NewServeMux()
	for name, s := range map[string]*slacktest.Server{"socket": socket, "hook": hook.Server} {
		mux.Handle("/"+name+"/", http.StripPrefix("/"+name, s.Config.Handler))
		mux.HandleFunc("POST /"+name+"/control/{action}", func(w http.ResponseWriter, r *http.Request) {
			var a act
			if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			out := control(s, r.PathValue("action"), a)
			if r.PathValue("action") == "mount" {
				hook.Mount(a.URL)
			}
			_ = json.NewEncoder(w).Encode(out) // a write error means that the client has left
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	return http.Serve(l, mux)
}

// control does what users or Slack do.
func control(s *slacktest.Server, action string, a act) (out any) {
	switch action {
	case "say":
		if a.Content != "" {
			return s.Share(a.Said, slacktest.File{Name: "a.txt", Type: "text/plain", Content: []byte(a.Content)})
		}
		return s.Say(a.Said)
	case "press":
		s.Press(a.User, a.Chat, a.Data)
	case "edit":
		return s.Edit(a.Chat, a.ID, a.Text)
	case "delete":
		return s.Delete(a.Chat, a.ID)
	case "drop":
		s.Drop()
	case "warn":
		s.Warn()
	case "fail":
		s.Fail(channeltest.Fault{Kind: a.Fault, RetryAfter: time.Duration(a.Seconds) * time.Second})
	case "sent":
		return s.Sent()
	case "pending":
		return s.Pending()
	}
	return nil
}
